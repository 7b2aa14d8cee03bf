"""What is wrong with settings, each with the path of its field: packs that are to act together, and constants of
retrieval (DP-2, NS-2)."""

import re
from collections.abc import Iterator, Mapping, Sequence

from shared.domain_packs.built_in import BUILT_IN
from shared.domain_packs.pack import Pack, Relation
from shared.errors import Violation
from shared.tuning_names import fault

_PATH = "settings.packs"
# A key is shown in a path only where it cannot be mistaken for something else; it is the caller's text.
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_.-]{1,64}")


def tuning_violations(tuning: Mapping[str, float]) -> list[Violation]:
    """All that is wrong with the constants of retrieval that a namespace sets for itself."""
    found = ((name, fault(name, value)) for name, value in sorted(tuning.items()))
    return [
        Violation(f"settings.tuning[{name if _PLAIN_KEY.fullmatch(name) else '*'}]", what)
        for name, what in found
        if what
    ]


def enablement_violations(wanted: Sequence[tuple[str, int]], registered: Sequence[Pack]) -> list[Violation]:
    """All that is wrong with enabling versions of packs, of which those that are registered are given."""
    return list(_repeated(wanted)) or list(_unknown(wanted, registered)) or list(_contradictions(wanted, registered))


def _repeated(wanted: Sequence[tuple[str, int]]) -> Iterator[Violation]:
    seen: set[str] = set()
    for place, (name, _) in enumerate(wanted):
        if name in seen:
            yield Violation(f"{_PATH}[{place}].pack", "must not be enabled twice")
        seen.add(name)


def _unknown(wanted: Sequence[tuple[str, int]], registered: Sequence[Pack]) -> Iterator[Violation]:
    known = {(pack.pack, pack.version) for pack in (*registered, *BUILT_IN.values())}
    for place, each in enumerate(wanted):
        if each not in known:
            yield Violation(f"{_PATH}[{place}].version", "must be a registered version of the pack")


def _contradictions(wanted: Sequence[tuple[str, int]], registered: Sequence[Pack]) -> Iterator[Violation]:
    by_name = {pack.pack: pack for pack in registered}
    kinds: set[str] = set()
    relations: dict[str, Relation] = {}
    for place, (name, _) in enumerate(wanted):
        if name not in by_name:
            continue
        names = {other for kind in by_name[name].kinds for other in kind.names}
        if names & kinds:
            yield Violation(f"{_PATH}[{place}]", "must not have a kind that a pack before it has")
        kinds |= names
        for each in by_name[name].relations:
            if relations.setdefault(each.relation, each).behaviour != each.behaviour:
                yield Violation(f"{_PATH}[{place}]", "must not define a relation otherwise than a pack before it")
