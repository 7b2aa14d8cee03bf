"""Which weights a model has."""

import hashlib
from pathlib import Path
from typing import Any

from transformers import AutoConfig

_WEIGHT_FILES = ("*.safetensors", "*.bin")


def name_of(model: str) -> str:
    """Returns a model's name on the hub, or that of its folder."""
    folder = Path(model)
    return folder.resolve().name if folder.is_dir() else model


def revision_of(model: str, configured: str, *, trust_remote_code: bool = False) -> str:
    """Returns a checksum of a folder's weights, or the commit of a model on the hub: a branch would change its meaning.

    Raises `OSError` where the model isn't there, and `ValueError` where its commit cannot be told.
    """
    folder = Path(model)
    return checksum(folder) if folder.is_dir() else _commit(model, configured, trust_remote_code)


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


def _commit(model: str, configured: str, trust_remote_code: bool) -> str:
    config: Any = AutoConfig.from_pretrained(model, revision=configured or None, trust_remote_code=trust_remote_code)
    commit = getattr(config, "_commit_hash", None) or configured
    if not commit:
        raise ValueError(f"the commit of {model} is not known: set its revision")
    return str(commit)
