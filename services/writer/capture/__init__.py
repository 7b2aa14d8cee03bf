"""What people and programs said to each other, taken in without what the memory itself had said before."""
