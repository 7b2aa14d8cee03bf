"""Which weights a model has."""

import hashlib
from pathlib import Path
from typing import Any

_WEIGHT_FILES = ("*.safetensors", "*.bin")


def name_of(model: str) -> str:
    """Returns a model's name on the hub, or that of its folder."""
    folder = Path(model)
    return folder.resolve().name if folder.is_dir() else model


def revision_of(model: str, loaded: Any, configured: str) -> str:
    """Returns a checksum of a folder's weights, or the commit that a model from the hub was loaded from.

    `loaded` is the model of sentence-transformers. Raises `ValueError` where neither can be told.
    """
    folder = Path(model)
    return checksum(folder) if folder.is_dir() else _commit(model, loaded, configured)


def checksum(folder: Path) -> str:
    """Returns the first 40 hex digits of the SHA-256 over the weights files of a folder, in order of their names."""
    digest = hashlib.sha256()
    paths = sorted({path for pattern in _WEIGHT_FILES for path in folder.rglob(pattern)})
    if not paths:
        raise ValueError(f"{folder} holds no weights")
    for path in paths:
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:40]


def _commit(model: str, loaded: Any, configured: str) -> str:
    """A branch would change its meaning: the commit is what was loaded."""
    config = getattr(getattr(loaded[0], "auto_model", None), "config", None)
    commit = getattr(config, "_commit_hash", None) or configured
    if not commit:
        raise ValueError(f"the commit of {model} is not known: set its revision")
    return str(commit)
