"""What needs programs that the package does not bring: run by targets of its own, never within `make test`."""

from tests.integration.conftest import embedder_target

__all__ = ["embedder_target"]
