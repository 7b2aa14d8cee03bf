"""OP-5: options of the load that cannot be run with end it before anything is started, by a line that says why."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from load import __main__ as load
from load import soak

ANY_TARGET = "127.0.0.1:1"


@contextmanager
def told(text: str) -> Iterator[str]:
    """The address of a server that answers whatever is asked with a text."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/metrics"
        finally:
            server.shutdown()
            thread.join()


def refused(monkeypatch: pytest.MonkeyPatch, *options: str) -> str:
    """How a load that is given these options ends."""
    monkeypatch.setattr(sys, "argv", ["load", "--target", ANY_TARGET, *options])
    with pytest.raises(SystemExit) as ended:
        load.main()
    return str(ended.value.code)


def test_metrics_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """OP-5: where nobody answers, at what is no address, of what is no text of metrics."""
    with told("") as gone:
        pass
    said = refused(monkeypatch, "--metrics", gone)
    assert said.startswith(f"--metrics: {gone} cannot be read: ")
    assert "refused" in said
    assert refused(monkeypatch, "--metrics", "writer:9464").startswith("--metrics: writer:9464 cannot be read: ")
    with told("<html>\nnot { metrics") as page:
        assert refused(monkeypatch, "--metrics", page).startswith(f"--metrics: {page} cannot be read: ")


def test_metrics_of_something_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """OP-5: each address is looked at, and the wrong one named."""
    with told("palimpsest_watchers 0\n") as ours, told("go_goroutines 7\n") as other:
        said = refused(monkeypatch, "--metrics", f"{ours},{other}")
    assert said == f"--metrics: {other} tells no metrics of Palimpsest"


@pytest.mark.parametrize("option", ["--minutes", "--overload-seconds"])
@pytest.mark.parametrize("number", ["0", "-1"])
def test_a_soak_without_time(
    option: str, number: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """OP-5: is wrong use, and starts nothing."""
    monkeypatch.setattr(sys, "argv", ["load.soak", option, number])
    monkeypatch.setattr(soak, "benched", None)
    with pytest.raises(SystemExit) as ended:
        soak.main()
    assert ended.value.code == 2
    assert capsys.readouterr().err.splitlines()[-1].endswith("--minutes and --overload-seconds are above 0")
