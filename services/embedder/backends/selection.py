"""Loads the models that the settings name."""

from services.embedder.backend import Backend, InputType
from services.embedder.reranker import CrossEncoding
from services.embedder.settings import EmbedderSettings


def load_backend(settings: EmbedderSettings) -> Backend:
    """Returns the model, ready to run. Takes seconds to minutes; raises what the backend's loader raises."""
    backend = _load(settings)
    # The first run of a model sets up kernels and memory: it is not a caller's to wait for.
    (text,) = backend.cut(["a first text"], InputType.PASSAGE)
    backend.encode(text.windows)
    return backend


def load_reranker(settings: EmbedderSettings) -> CrossEncoding | None:
    """Returns the cross-encoder, ready to run; None where none is configured. Raises what its loader raises."""
    if not settings.reranker:
        return None
    from services.embedder.backends.cross_encoder import load_cross_encoder

    reranker = load_cross_encoder(settings)
    reranker.score([pair for pairs in reranker.cut("a first question", ["a first text"]) for pair in pairs])
    return reranker


def _load(settings: EmbedderSettings) -> Backend:
    # A process imports the libraries of one backend only: torch alone takes seconds and hundreds of megabytes.
    if settings.backend == "sentence-transformers":
        from services.embedder.backends.sentence_transformers import load_sentence_transformers

        return load_sentence_transformers(settings)
    from services.embedder.backends.bundled import load_bundled

    return load_bundled(settings)
