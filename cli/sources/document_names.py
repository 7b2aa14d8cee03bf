"""Finds the document that a link means among those of a folder."""

import posixpath
import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from pathlib import PurePosixPath

from cli.sources.markdown_files import SUFFIXES


class DocumentNames:
    """The names of a folder's documents: their paths, file names, and what they call themselves."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._by_path: dict[str, str] = {}
        self._by_file_name: defaultdict[str, list[str]] = defaultdict(list)
        self._by_own_name: defaultdict[str, set[str]] = defaultdict(set)
        for path in sorted(paths, key=lambda path: (path.count("/"), path)):
            self._by_path[_form(_bare(path))] = path
            self._by_file_name[_form(PurePosixPath(_bare(path)).name)].append(path)

    def add_own_names(self, path: str, names: Iterable[str]) -> None:
        """Notes the title and aliases that a document gives itself."""
        for name in names:
            self._by_own_name[_form(name)].add(path)

    def by_path(self, path: str, origin: str) -> str | None:
        """The document at a path relative to the document `origin`, or to the folder where it begins with `/`."""
        return self._by_path.get(_form(_bare(resolved(path, origin) or "")))

    def by_name(self, name: str, origin: str) -> str | None:
        """The document that a wiki link in `origin` names; None where there is none, or several call themselves so.

        A name with a `/` is a path, from the folder's root or from `origin`. Else it is a file name, before it is a
        title or alias; of equal file names the one beside `origin` is meant, then the one with the shortest path.
        """
        bare = _bare(name)
        if "/" in bare:
            return self._by_path.get(_form(bare.lstrip("/"))) or self.by_path(name, origin)
        return self._by_file(_form(bare), posixpath.dirname(origin)) or self._by_title(_form(name))

    def _by_file(self, name: str, beside: str) -> str | None:
        found = self._by_file_name.get(name, [])
        return next((path for path in found if posixpath.dirname(path) == beside), found[0] if found else None)

    def _by_title(self, name: str) -> str | None:
        found = self._by_own_name.get(name, set())
        return next(iter(found)) if len(found) == 1 else None


def resolved(path: str, origin: str) -> str | None:
    """A path relative to the document `origin` as one relative to the folder; None where it leads out of it."""
    joined = path.lstrip("/") if path.startswith("/") else posixpath.join(posixpath.dirname(origin), path)
    normal = posixpath.normpath(joined)
    return None if normal in (".", "..") or normal.startswith("../") else normal


def is_markdown(path: str) -> bool:
    """Whether a path is that of a document, or has no suffix, as links between notes often have none."""
    suffix = PurePosixPath(path).suffix.lower()
    return suffix in SUFFIXES or not suffix


def _bare(path: str) -> str:
    lower = path.lower()
    return next((path[: -len(suffix)] for suffix in SUFFIXES if lower.endswith(suffix)), path)


def _form(name: str) -> str:
    return unicodedata.normalize("NFC", name.strip()).casefold()
