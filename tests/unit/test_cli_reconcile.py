"""What `palimpsest reconcile` makes of lines, and how it cuts a snapshot into messages."""

import io
import json

import pytest
from palimpsest.v1.writer_service_pb2 import SnapshotHead, SnapshotItem

from cli.commands.reconcile import _requests, read_items
from cli.failure import ExitCode, Failure

ITEM = {"entity": {"entity": {"key": "issue:OPS-1"}, "title": "One"}, "relations": []}


def lines(*items: object) -> io.BytesIO:
    return io.BytesIO("\n".join(json.dumps(item) for item in items).encode())


def test_items_are_read() -> None:
    """DO-6: one a line; blank lines and a mark of the byte order are nothing."""
    text = b"\xef\xbb\xbf" + lines(ITEM).getvalue() + b"\n\n" + lines(ITEM).getvalue()

    assert [item.entity.title for item in read_items(io.BytesIO(text))] == ["One", "One"]


def test_a_wrong_line_ends_it() -> None:
    """DO-6, OP-2: with its number and path: what an incomplete state lacks would count as gone."""
    wrong = {"entity": {"entity": {"key": "issue:OPS-2"}, "source_created_at": "2026-01-01T00:00:00"}}

    with pytest.raises(
        Failure, match=r"line 2: entity\.source_created_at: the time has no offset.*nothing was sent"
    ) as said:
        list(read_items(lines(ITEM, wrong)))

    assert said.value.code is ExitCode.USAGE


def test_a_snapshot_is_sent_in_messages_that_fit() -> None:
    """DO-6, OP-1: the head alone in the first; all items, in order, in as many as needed."""
    items = [SnapshotItem() for _ in range(2_300)]
    for number, item in enumerate(items):
        item.entity.entity.key = f"issue:{number}"
    items[5].entity.attributes = json.dumps({"text": "x" * 60_000})
    for item in items[10:100]:
        item.entity.attributes = json.dumps({"text": "x" * 60_000})

    head, *parts = _requests(SnapshotHead(scope="OPS"), items)

    assert head.head.scope == "OPS"
    assert [item for part in parts for item in part.items.items] == items
    assert max(part.ByteSize() for part in parts) < 5 * 1024 * 1024
    assert max(len(part.items.items) for part in parts) <= 1_000
    assert list(_requests(SnapshotHead(), [])) == [next(_requests(SnapshotHead(), []))]
