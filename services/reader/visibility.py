"""What a caller may see of facts, as fragments that the reader's statements share."""

from pathlib import Path

from shared.statements import load_statements

VISIBILITY = load_statements(Path(__file__).with_name("visibility.sql"))
