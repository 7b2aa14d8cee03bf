"""`palimpsest health`: whether a namespace's memory is well."""

from collections.abc import Iterable, Iterator, Sequence

from palimpsest.v1.governance_pb2 import AgeBucket, MemoryHealth
from palimpsest.v1.reader_service_pb2 import GetMemoryHealthRequest

from cli.options import Data, Json, Namespace, Target, connected
from cli.output import say_json, say_table

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"))


def health(namespace: Namespace = "default", target: Target = None, data: Data = None, as_json: Json = False) -> None:
    """Report on a namespace's memory: what is never recalled, expires, conflicts, was refused, or waits."""
    with connected(target, data) as connection:
        report = connection.client.reader.GetMemoryHealth(GetMemoryHealthRequest(namespace=namespace)).health
    if as_json:
        say_json(report)
    else:
        say_table(("what", "number", "of these"), _rows(report))


def age(seconds: int) -> str:
    """An age in the greatest unit that it fills."""
    for length, unit in _UNITS:
        if seconds >= length:
            return f"{seconds // length} {unit}"
    return f"{seconds} s"


def mismatch(active: str, served: Iterable[str]) -> str:
    """What is wrong where no model is served by whose vectors searches go, and the way out."""
    return (
        f"searched are vectors of {active}, served is {', '.join(served)}: serve that model again, or build vectors of "
        "this one: palimpsest reembed start"
    )


def _rows(report: MemoryHealth) -> Iterator[tuple[str, str, str]]:
    yield "in no answer for 90 days", str(report.never_recalled), ""
    yield "facts whose evidence expires within 30 days", str(report.evidence_expiring), ""
    yield "conflicts", *_by_age(report.conflicts)
    reasons = ", ".join(f"{reason} {number}" for reason, number in sorted(report.rejected.items()))
    yield "refused input", str(sum(report.rejected.values())), reasons
    yield "blocks and secrets stripped from captured text", str(report.stripped), ""
    yield "chunks that wait for a vector", *_by_age(report.embedding_backlog)
    yield "captured messages that wait for extraction", *_by_age(report.extraction_backlog)
    yield "captured messages that were given up", str(report.dead_letters), ""
    yield "duplicates that wait for a decision", str(report.duplicate_proposals), ""
    if report.embedding_mismatch:
        yield (
            "model mismatch: searches go by words",
            "",
            mismatch(report.active_fingerprint, report.served_fingerprints),
        )


def _by_age(buckets: Sequence[AgeBucket]) -> tuple[str, str]:
    ages = ", ".join(f"{bucket.count} of {age(bucket.from_s)} and more" for bucket in buckets)
    return str(sum(bucket.count for bucket in buckets)), ages
