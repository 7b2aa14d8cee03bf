"""What is read and turned into observations: JSON lines, git histories, folders of Markdown."""
