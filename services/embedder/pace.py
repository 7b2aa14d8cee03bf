"""How fast work is done, and how large batches may be for it. Knows no clock of its own."""

# For so long after a query others are expected.
QUERIES_EXPECTED_S = 2.0
# Weight of the newest batch in the running measures. Speed follows quickly, for it is another one for small batches.
_SPEED_SMOOTHING, _QUERY_SMOOTHING = 0.5, 0.1


class Pace:
    """What was measured of the batches of one model.

    A batch under way can't be interrupted, so a query waits for the one before it. Where there is nothing that runs
    queries apart, batches of passages last no longer, while queries come, than a batch of queries does: a query then
    takes about twice its own time.
    """

    def __init__(self, batch_tokens: int, *, queries_wait: bool) -> None:
        self.batch_tokens = batch_tokens
        self._tokens_per_s = {True: 0.0, False: 0.0}
        self._queries_wait = queries_wait
        self._query_s = 0.0
        self._query_came: float | None = None

    @property
    def tokens_per_s(self) -> float:
        """Tokens a second of a batch of passages, of queries where none of them was run yet; 0 before any batch."""
        return self._tokens_per_s[False] or self._tokens_per_s[True]

    def query_came(self, now: float) -> None:
        """Notes that a query has come."""
        self._query_came = now

    def ran(self, tokens: int, ran_s: float, *, urgent: bool) -> None:
        """Notes a batch that was run."""
        self._tokens_per_s[urgent] = _smoothed(self._tokens_per_s[urgent], tokens / max(ran_s, 1e-6), _SPEED_SMOOTHING)
        if urgent:
            # Down at once: batches of many queries, after a wait, tell little of how long one takes.
            self._query_s = min(ran_s, _smoothed(self._query_s, ran_s, _QUERY_SMOOTHING))

    def patient_tokens(self, now: float) -> int:
        """Returns the token budget of a batch of passages that begins now."""
        expected = self._query_came is not None and now - self._query_came < QUERIES_EXPECTED_S
        if not (self._queries_wait and expected and self._query_s):
            return self.batch_tokens
        return min(self.batch_tokens, max(1, int(self.tokens_per_s * self._query_s)))


def _smoothed(before: float, newest: float, weight: float) -> float:
    return before + (newest - before) * weight if before else newest
