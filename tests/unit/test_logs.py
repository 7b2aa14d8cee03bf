"""Logs as JSON, and what they leave out."""

import asyncio
import io
import json
import logging

import pytest

from shared.logs import JsonFormatter, TurnHandler, exception_outline


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


class Writes(io.StringIO):
    """A stream that tells each write apart."""

    def __init__(self) -> None:
        super().__init__()
        self.each: list[list[str]] = []

    def write(self, text: str) -> int:
        self.each.append([json.loads(line)["message"] for line in text.splitlines()])
        return super().write(text)


@pytest.fixture
def turns() -> tuple[logging.Logger, Writes]:
    stream = Writes()
    handler = TurnHandler(stream)
    handler.setFormatter(JsonFormatter("writer"))
    logger = logging.Logger("test")
    logger.addHandler(handler)
    return logger, stream


def test_lines_of_one_turn_are_written_together_when_it_ends(turns: tuple[logging.Logger, Writes]) -> None:
    """OP-3: in their order, and before anything else is waited for."""
    logger, stream = turns

    async def two_turns() -> None:
        logger.info("1")
        logger.info("2")
        assert stream.each == []
        await asyncio.sleep(0)
        assert stream.each == [["1", "2"]]
        logger.info("3")
        await asyncio.sleep(0)

    asyncio.run(two_turns())
    assert stream.each == [["1", "2"], ["3"]]


def test_a_warning_is_written_at_once_and_what_was_before_it_first(turns: tuple[logging.Logger, Writes]) -> None:
    """OP-3: what tells why a process dies is there when it does."""
    logger, stream = turns

    async def worse() -> None:
        logger.info("1")
        logger.warning("2")
        assert stream.each == [["1", "2"]]

    asyncio.run(worse())
    assert stream.each == [["1", "2"]]


def test_what_is_logged_outside_of_a_loop_is_written_at_once(turns: tuple[logging.Logger, Writes]) -> None:
    """OP-3: in threads of models, and before a loop runs."""
    logger, stream = turns

    async def in_a_thread() -> None:
        logger.info("1")
        await asyncio.to_thread(logger.info, "2")

    logger.info("0")
    assert stream.each == [["0"]]
    asyncio.run(in_a_thread())
    assert [line for each in stream.each for line in each] == ["0", "1", "2"]


def test_a_loop_that_is_closed_in_its_turn_keeps_no_line_from_the_next(turns: tuple[logging.Logger, Writes]) -> None:
    """OP-3: nor does the line get lost that was logged in that turn."""
    logger, stream = turns

    async def logs(message: str) -> None:
        logger.info(message)

    _log_and_stop(logger, "1")
    asyncio.run(logs("2"))
    assert [line for each in stream.each for line in each] == ["1", "2"]


def test_the_end_of_a_process_writes_what_is_kept(turns: tuple[logging.Logger, Writes]) -> None:
    """OP-3: `logging.shutdown`, which Python calls at its end, flushes handlers."""
    logger, stream = turns
    _log_and_stop(logger, "1")
    logger.handlers[0].flush()
    assert stream.each == [["1"]]


def _log_and_stop(logger: logging.Logger, message: str) -> None:
    """Logs in a turn after which the loop goes on no more."""
    loop = asyncio.new_event_loop()
    loop.call_soon(logger.info, message)
    loop.call_soon(loop.stop)
    loop.run_forever()
    loop.close()
