"""How statements about facts' ends take effect: pure, and the same for any order of arrival (FA-5, FA-6, OB-7)."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from services.writer.projection.rows import Retraction, Stamp, Supersession
from services.writer.projection.timeline import Member, Place, timeline_ends
from shared.timestamps import EARLIEST

# Numbers of FactClosure.
OPEN = 0
ASSERTED = 1
SUPERSEDED = 2
RETRACTED = 3
CORRECTED = 4
TIMELINE = 5

# The end of a fact that was wrong from the start and has no replacement: it is true at no moment.
NEVER_TRUE = EARLIEST


@dataclass(frozen=True, slots=True)
class FactSpan:
    """What the resolution needs of a fact."""

    fact_id: str
    valid_from: datetime | None
    observed_at: datetime
    asserted_valid_to: datetime | None
    # Its place on a timeline; None where its predicate has none, or its evidence is lost.
    place: Place | None = None
    # The latest correction that left the identity as it is: what was said before of its end, or of its being wrong, is
    # void.
    corrected: Stamp | None = None

    @property
    def start(self) -> datetime:
        """From when it takes another's place: its own start or, where that is unknown, its first observation."""
        return self.observed_at if self.valid_from is None else self.valid_from


@dataclass(frozen=True, slots=True)
class ResolvedFact:
    """The derived columns of a fact. One with the closure CORRECTED is true at no `as_of`, whatever its `valid_to`."""

    valid_to: datetime | None
    closure: int
    supersedes: tuple[str, ...]
    superseded_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Resolution:
    """What the statements come to: derived columns by fact id, and the statements that are refused."""

    facts: Mapping[str, ResolvedFact]
    refused: tuple[Supersession, ...]


def resolve(
    facts: Iterable[FactSpan], supersessions: Iterable[Supersession], retractions: Iterable[Retraction]
) -> Resolution:
    """Resolves facts that statements or timelines connect: give whole components, with every statement about them, and
    whole timelines.

    A correction says of its new fact that it is right: what was said before, that this fact was wrong, is void; so a
    correction is undone by another. Statements are considered by rising stamp, and one that would close a cycle is
    refused, whether its facts have arrived or not; a correction only by a cycle of corrections, for it outweighs what
    was said of succession before. One takes effect where both facts are given.

    A fact ends at the earliest of what was asserted, retracted and superseded; of equal ends the one named first here
    gives the closure. A correction gives no end: it makes its old fact CORRECTED, as does a retraction at `NEVER_TRUE`.
    What replaces a corrected fact stands in its place: it closes what that closed, and is closed by what closed that;
    without a replacement nothing does. A fact with a place on a timeline also ends where the next fact of it begins, if
    it did not end before; facts that are true at no moment have no part in that.
    """
    spans = {span.fact_id: span for span in facts}
    said = set(supersessions)
    right = _Right(spans.values(), said)
    accepted, refused = _without_cycles(each for each in said if not right.voids_correction(each))
    effective = [each for each in accepted if each.old_fact_id in spans and each.new_fact_id in spans]
    valid = [each for each in retractions if not right.voids_retraction(each)]
    replacements = _Replacements(effective, valid)
    effective = replacements.statements(effective)
    ends = _Ends(spans, effective, [held for each in valid for held in replacements.retractions(each)])
    ends.follow_timelines()
    newer, older = _neighbours(effective)
    resolved = {
        fact_id: ResolvedFact(*ends.of(fact_id), tuple(sorted(older[fact_id])), tuple(sorted(newer[fact_id])))
        for fact_id in spans
    }
    return Resolution(resolved, tuple(refused))


class _Right:
    """When each fact was last said to be right.

    That makes void what was said before: that it was wrong and, where its end alone was corrected, when it ended.
    """

    def __init__(self, spans: Iterable[FactSpan], supersessions: Iterable[Supersession]) -> None:
        self._end = {span.fact_id: span.corrected for span in spans if span.corrected is not None}
        self._value = dict(self._end)
        for each in supersessions:
            if each.correction and each.new_fact_id != each.old_fact_id:
                self._value[each.new_fact_id] = max(self._value.get(each.new_fact_id, each.stamp), each.stamp)

    def voids_correction(self, statement: Supersession) -> bool:
        """Whether the statement is a correction of a fact that was said to be right since."""
        return statement.correction and _is_before(statement.stamp, self._value.get(statement.old_fact_id))

    def voids_retraction(self, retraction: Retraction) -> bool:
        """Whether its fact was said to be right since, by what speaks of its end too."""
        since = self._value if retraction.valid_to == NEVER_TRUE else self._end
        return _is_before(retraction.stamp, since.get(retraction.fact_id))


def _is_before(stamp: Stamp, other: Stamp | None) -> bool:
    return other is not None and stamp < other


def _without_cycles(supersessions: Iterable[Supersession]) -> tuple[list[Supersession], list[Supersession]]:
    accepted: list[Supersession] = []
    refused: list[Supersession] = []
    corrections, graph = _Acyclic(), _Acyclic()
    for statement in sorted(supersessions, key=_order):
        grown = (corrections if statement.correction else graph).add(statement.new_fact_id, statement.old_fact_id)
        if grown and statement.correction:
            graph.put(statement.new_fact_id, statement.old_fact_id)
        (accepted if grown else refused).append(statement)
    return accepted, refused


def _order(statement: Supersession) -> tuple[Stamp, str, str, bool, str]:
    old, new = statement.old_fact_id, statement.new_fact_id
    return statement.stamp, old, new, statement.correction, statement.reason


class _Replacements:
    """Which facts stand in the place of corrected ones."""

    def __init__(self, effective: Iterable[Supersession], retractions: Iterable[Retraction]) -> None:
        self._corrections: defaultdict[str, list[Supersession]] = defaultdict(list)
        for each in effective:
            if each.correction:
                self._corrections[each.old_fact_id].append(each)
        self._never_true = {each.fact_id for each in retractions if each.valid_to == NEVER_TRUE}

    def statements(self, effective: Iterable[Supersession]) -> list[Supersession]:
        """The statements, those about corrected facts as statements about what replaces them."""
        kept: list[Supersession] = []
        moved: list[Supersession] = []
        for each in effective:
            if each.correction or not (self._is_wrong(each.old_fact_id) or self._is_wrong(each.new_fact_id)):
                kept.append(each)
                continue
            olds, news = self._holders(each.old_fact_id), self._holders(each.new_fact_id)
            moved += [replace(each, old_fact_id=old, new_fact_id=new) for old in olds for new in news]
        if not moved:
            return kept
        graph = _Acyclic()
        for each in kept:
            graph.add(each.new_fact_id, each.old_fact_id)
        # A replacement may itself supersede what its place would have it closed by: what was said goes before.
        return kept + [each for each in sorted(moved, key=_order) if graph.add(each.new_fact_id, each.old_fact_id)]

    def retractions(self, retraction: Retraction) -> list[Retraction]:
        """The retraction and, as far as it was said after the correction, the same of what replaces its fact."""
        if retraction.valid_to == NEVER_TRUE:
            return [retraction]
        holders = self._holders(retraction.fact_id, retraction.stamp)
        return [retraction, *(replace(retraction, fact_id=each) for each in holders if each != retraction.fact_id)]

    def _is_wrong(self, fact_id: str) -> bool:
        return fact_id in self._never_true or fact_id in self._corrections

    def _holders(self, fact_id: str, stamp: Stamp | None = None) -> list[str]:
        found: dict[str, None] = {}
        waiting, seen = [fact_id], {fact_id}
        while waiting:
            held = waiting.pop()
            if not self._is_wrong(held):
                found[held] = None
            for each in self._corrections.get(held, ()):
                if each.new_fact_id not in seen and (stamp is None or each.stamp < stamp):
                    seen.add(each.new_fact_id)
                    waiting.append(each.new_fact_id)
        return sorted(found)


class _Acyclic:
    """A graph of facts, newer to older, that refuses an edge which would close a cycle."""

    def __init__(self) -> None:
        self._older: defaultdict[str, set[str]] = defaultdict(set)
        self._parents: dict[str, str] = {}

    def add(self, newer: str, older: str) -> bool:
        """Adds an edge; False where a path leads back already."""
        if newer == older or (self._root(newer) == self._root(older) and self._reaches(older, newer)):
            return False
        self.put(newer, older)
        return True

    def put(self, newer: str, older: str) -> None:
        """Adds an edge, whatever it closes."""
        self._older[newer].add(older)
        self._parents[self._root(newer)] = self._root(older)

    def _root(self, node: str) -> str:
        """A name of the node's component. Facts of different components close no cycle, and most edges join such."""
        while (parent := self._parents.get(node, node)) != node:
            self._parents[node] = self._parents.get(parent, parent)
            node = parent
        return node

    def _reaches(self, start: str, goal: str) -> bool:
        waiting, seen = [start], {start}
        while waiting:
            node = waiting.pop()
            if node == goal:
                return True
            fresh = self._older[node] - seen
            seen |= fresh
            waiting.extend(fresh)
        return False


class _Ends:
    """Every end that each fact was given, with the closure that it would be."""

    def __init__(
        self, spans: Mapping[str, FactSpan], effective: list[Supersession], retractions: list[Retraction]
    ) -> None:
        self._spans = spans
        self._corrected = {each.old_fact_id for each in effective if each.correction}
        self._corrected |= {each.fact_id for each in retractions if each.valid_to == NEVER_TRUE}
        self._given: defaultdict[str, list[tuple[datetime, int]]] = defaultdict(list)
        for span in spans.values():
            if span.asserted_valid_to is not None:
                self._given[span.fact_id].append((span.asserted_valid_to, ASSERTED))
        for each in effective:
            self._given[each.old_fact_id].append((spans[each.new_fact_id].start, SUPERSEDED))
        for retraction in retractions:
            self._given[retraction.fact_id].append((retraction.valid_to, retraction.closure))

    def follow_timelines(self) -> None:
        """Adds the ends that the next facts of timelines give."""
        members = [
            Member(span.fact_id, span.place, span.start, self.of(span.fact_id)[0])
            for span in self._spans.values()
            if span.place is not None and span.fact_id not in self._corrected
        ]
        for fact_id, end in timeline_ends(members).items():
            self._given[fact_id].append((end, TIMELINE))

    def of(self, fact_id: str) -> tuple[datetime | None, int]:
        """The end of a fact and what closed it; the numbers of closures decide between equal ends."""
        if fact_id in self._corrected:
            return self._spans[fact_id].asserted_valid_to, CORRECTED
        return min(self._given[fact_id], default=(None, OPEN))


def _neighbours(effective: Iterable[Supersession]) -> tuple[defaultdict[str, set[str]], defaultdict[str, set[str]]]:
    newer: defaultdict[str, set[str]] = defaultdict(set)
    older: defaultdict[str, set[str]] = defaultdict(set)
    for each in effective:
        newer[each.old_fact_id].add(each.new_fact_id)
        older[each.new_fact_id].add(each.old_fact_id)
    return newer, older
