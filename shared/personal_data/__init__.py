"""Personal data: what is found in texts, and how it is masked where they leave."""
