"""Logs as JSON, and what they leave out."""

import io
import json
import logging

import pytest

from shared.logs import JsonFormatter, exception_outline


@pytest.fixture
def log() -> tuple[logging.Logger, io.StringIO]:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter("writer"))
    logger = logging.Logger("test")  # not in the tree, so that no other handler sees it
    logger.addHandler(handler)
    return logger, stream


def test_a_record_is_one_line_of_json(log: tuple[logging.Logger, io.StringIO]) -> None:
    """OP-3: level, logger, service and what was given as extra; a line break in a message stays in its line."""
    logger, stream = log
    logger.warning("served %s\nof %s", 1, 2, extra={"method": "/a/b", "duration_ms": 1.5})
    (line,) = stream.getvalue().splitlines()
    record = json.loads(line)
    assert record.pop("time").endswith("+00:00")
    assert record == {
        "level": "WARNING",
        "service": "writer",
        "logger": "test",
        "message": "served 1\nof 2",
        "method": "/a/b",
        "duration_ms": 1.5,
    }


def test_the_text_of_an_exception_is_left_out(log: tuple[logging.Logger, io.StringIO]) -> None:
    """OP-3: drivers repeat rows in their messages; types and places are enough to find a fault."""
    logger, stream = log
    try:
        try:
            raise ValueError("canary 1")
        except ValueError as error:
            raise KeyError("canary 2") from error
    except KeyError:
        logger.exception("it failed")
    record = json.loads(stream.getvalue())
    assert "canary" not in stream.getvalue()
    assert record["exception"].startswith("ValueError at ")
    assert "KeyError at " in record["exception"]
    assert "test_the_text_of_an_exception_is_left_out" in record["exception"]


def test_a_suppressed_cause_is_left_out() -> None:
    def fail() -> None:
        try:
            raise ValueError
        except ValueError:
            raise KeyError from None

    with pytest.raises(KeyError) as caught:
        fail()
    assert "ValueError" not in exception_outline(caught.value)
