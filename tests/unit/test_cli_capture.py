"""JSON lines as turns of conversations."""

import io
import json
from typing import Any

from cli.commands.capture import read_turns


def line(message_id: str, text: str, **fields: Any) -> str:
    said = {"message_id": message_id, "text": text, "sent_at": "2026-08-01T09:00:00Z", **fields}
    return json.dumps(said)


def test_lines_as_turns() -> None:
    """OB-5, OP-2: a line that is refused says why; the others are read."""
    lines = [line("1", "hi"), "", "{", line("2", "x", sent_at="2026-08-01"), line("3", "y", conversation_id="other")]
    turns = list(read_turns(io.BytesIO("\n".join(lines).encode()), "room"))
    assert [(turn.line, turn.conversation) for turn in turns] == [(1, "room"), (3, "room"), (4, "room"), (5, "other")]
    assert "not JSON" in turns[1].refusal
    assert "sent_at" in turns[2].refusal
    [nowhere] = read_turns(io.BytesIO(lines[0].encode()), "")
    assert "--conversation" in nowhere.refusal
