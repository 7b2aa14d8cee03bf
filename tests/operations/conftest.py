"""What operators do: backup, restore, upgrade, roll back."""

from tests.integration.conftest import embedder_target

__all__ = ["embedder_target"]
