"""What is known of vectors and of what waits for one."""

from collections.abc import Sequence
from dataclasses import dataclass

from services.writer.passage_store import Space


@dataclass(frozen=True, slots=True)
class EmbeddingStatus:
    """The spaces with their numbers of vectors, the model that is served now, and the queue."""

    spaces: Sequence[tuple[Space, int]]
    served_fingerprint: str
    queue_depth: int
    oldest_age_s: float
    poisoned: int

    @property
    def mismatch(self) -> bool:
        """Whether the served model is another than the active space's (EM-4)."""
        active = next((space.fingerprint for space, _ in self.spaces if space.state == "active"), "")
        return bool(active and self.served_fingerprint and active != self.served_fingerprint)
