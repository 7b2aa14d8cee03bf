"""What is tried, one module for each section of the rules."""
