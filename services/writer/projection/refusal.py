"""Why an assertion is not applied."""

from collections.abc import Mapping

INVALID_ARGUMENT = 3
FAILED_PRECONDITION = 9


class Refused(Exception):
    """An assertion cannot be applied. `field` is the path below the assertion; `message` never holds content."""

    def __init__(
        self,
        field: str,
        message: str,
        *,
        reason: str = "INVALID_FIELD",
        code: int = INVALID_ARGUMENT,
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.field = field
        self.message = message
        self.reason = reason
        self.code = code
        self.metadata = dict(metadata or {})


def cycle(field: str) -> Refused:
    """A fact that would take its own place."""
    return Refused(field, "a fact cannot take its own place", reason="SUPERSESSION_CYCLE", code=FAILED_PRECONDITION)
