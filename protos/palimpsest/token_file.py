"""A bearer token in a file that may be renewed at any time, as Kubernetes renews what it mounts."""

import os
from pathlib import Path


class TokenFile:
    """Gives the token that the file holds by now; for a client's `token`."""

    def __init__(self, path: str | Path) -> None:
        """Reads the file. Raises OSError, and ValueError where it holds no token."""
        self._path = Path(path)
        self._signature = self._seen()
        self._token = self._read()

    def __call__(self) -> str:
        """The token. While the file is gone, or empty, it is what it was."""
        try:
            signature = self._seen()
            if signature != self._signature:
                self._token = self._read()
                self._signature = signature
        except (OSError, ValueError):
            pass
        return self._token

    def _seen(self) -> tuple[int, int, int]:
        found = os.stat(self._path)
        return found.st_ino, found.st_mtime_ns, found.st_size

    def _read(self) -> str:
        token = self._path.read_text(encoding="utf-8").strip()
        if not token or not token.isascii() or not token.isprintable():
            raise ValueError(f"{self._path} holds no token")
        return token
