"""What curation does in each phase of a pass, a bounded step at a time."""
