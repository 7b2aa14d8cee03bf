"""What is tried, one module for each group of rules."""
