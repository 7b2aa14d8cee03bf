"""What is wrong with a pack that is to be registered, each with the path of its field (DP-1)."""

from collections.abc import Callable, Iterable, Iterator

from services.writer.projection.schemas import Schema
from shared.domain_packs.built_in import BUILT_IN
from shared.domain_packs.id_pattern import compile_pattern, compile_relation
from shared.domain_packs.key_template import KeyTemplate
from shared.domain_packs.pack import Kind, Pack, Relation
from shared.errors import Violation

# What a fact's object may be besides an entity; a relation may lead to it by this name.
LITERAL_TYPES = frozenset({"text", "integer", "decimal", "boolean", "timestamp", "json"})
_BUILT_IN_KINDS = frozenset(name for pack in BUILT_IN.values() for kind in pack.kinds for name in kind.names)


def pack_violations(pack: Pack, path: str) -> list[Violation]:
    """All that is wrong with a pack whose fields have their limits; `path` leads to it."""
    return list(_of_pack(pack, path))


def _of_pack(pack: Pack, path: str) -> Iterator[Violation]:
    if pack.pack in BUILT_IN:
        yield Violation(f"{path}.pack", "must not be the name of a built-in pack")
    yield from _taken_names(pack, path)
    for place, kind in enumerate(pack.kinds):
        yield from _of_kind(kind, f"{path}.kinds[{place}]")
    known = _BUILT_IN_KINDS | {name for kind in pack.kinds for name in kind.names}
    for place, relation in enumerate(pack.relations):
        yield from _of_relation(relation, known, f"{path}.relations[{place}]")
    yield from _repeats([each.relation for each in pack.relations], lambda i: f"{path}.relations[{i}].relation")


def _taken_names(pack: Pack, path: str) -> Iterator[Violation]:
    """Names of kinds are told apart within a pack, and from those of the built-in ones."""
    seen = set(_BUILT_IN_KINDS)
    for place, kind in enumerate(pack.kinds):
        fields = ["kind", *(f"kind_aliases[{number}]" for number in range(len(kind.kind_aliases)))]
        for field, name in zip(fields, kind.names, strict=True):
            if name in seen:
                yield Violation(f"{path}.kinds[{place}].{field}", "must not be the name of another kind")
            seen.add(name)


def _of_kind(kind: Kind, path: str) -> Iterator[Violation]:
    if kind.key_schema:
        yield from _checked(f"{path}.key_schema", lambda: Schema(kind.key_schema))
    if kind.attributes_schema:
        yield from _checked(f"{path}.attributes_schema", lambda: Schema(kind.attributes_schema))
    if kind.key_template:
        yield from _checked(f"{path}.key_template", lambda: KeyTemplate.parse(kind.key_template))
    for place, alias in enumerate(kind.aliases):
        yield from _checked(f"{path}.aliases[{place}]", lambda alias=alias: _check_alias(kind, alias))  # type: ignore[misc]
    for place, pattern in enumerate(kind.id_patterns):
        yield from _checked(f"{path}.id_patterns[{place}]", lambda pattern=pattern: compile_pattern(pattern))  # type: ignore[misc]


def _check_alias(kind: Kind, alias: str) -> None:
    template = KeyTemplate.parse(alias)
    if not any(literal.strip() for literal in template.literals):
        raise ValueError("must have a text of its own, or any key would fit it")
    if not kind.key_template:
        raise ValueError("needs a key_template, which says what it stands for")
    if not _has_parts(kind.key_template, template):
        raise ValueError("must have the same parts as key_template")


def _has_parts(key_template: str, alias: KeyTemplate) -> bool:
    """Whether both have the same parts; yes where the one is no template, which is said of it elsewhere."""
    try:
        return set(KeyTemplate.parse(key_template).names) == set(alias.names)
    except ValueError:
        return True


def _of_relation(relation: Relation, known: frozenset[str], path: str) -> Iterator[Violation]:
    for name, kinds, allowed in (
        ("from_kinds", relation.from_kinds, known),
        ("to_kinds", relation.to_kinds, known | LITERAL_TYPES),
    ):
        for place, kind in enumerate(kinds):
            if kind not in allowed:
                yield Violation(f"{path}.{name}[{place}]", "must be a kind of this pack or of a built-in one")
    for place, pattern in enumerate(relation.patterns):
        yield from _checked(f"{path}.patterns[{place}]", lambda pattern=pattern: compile_relation(pattern))  # type: ignore[misc]
    if any(ord(sign) < 0x20 or sign == "\x7f" for sign in relation.relation):
        yield Violation(f"{path}.relation", "must not have control characters")
    if relation.on_conflict and not relation.is_single:
        yield Violation(f"{path}.on_conflict", "must be absent where the cardinality is not ONE")
    if relation.is_timeline and not relation.temporal:
        yield Violation(f"{path}.on_conflict", "must not be SUPERSEDE for a relation without intervals")


def _repeats(names: Iterable[str], path: Callable[[int], str]) -> Iterator[Violation]:
    seen: set[str] = set()
    for place, name in enumerate(names):
        if name in seen:
            yield Violation(path(place), "must not be defined twice")
        seen.add(name)


def _checked(path: str, check: Callable[[], object]) -> Iterator[Violation]:
    """What a check says in words; the words of a ValueError are for the caller."""
    try:
        check()
    except ValueError as error:
        yield Violation(path, str(error))
