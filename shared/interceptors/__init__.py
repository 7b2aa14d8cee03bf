"""What is done around every call, and how errors become statuses."""
