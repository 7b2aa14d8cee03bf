"""The packs that act in every namespace, and whose names nobody else can take (DP-1)."""

from shared.domain_packs.pack import Kind, Pack, Relation

_KINDS = ("document", "entity", "fact")
_RECORD_KINDS = ("episode", "preference", "reflection", "rule", "skill")
_RELATIONS = (
    "CAUSED_BY",
    "CHILD_OF",
    "CONTRADICTS",
    "DEPENDS_ON",
    "DERIVED_FROM",
    "DUPLICATE_OF",
    "IN_TRACE",
    "LINKS_TO",
    "MENTIONS",
    "PART_OF",
    "RELATED_TO",
    "REPLIES_TO",
    "SUPPORTS",
)

DEFAULT = Pack(
    pack="default",
    version=1,
    kinds=tuple(map(Kind, _KINDS)),
    relations=tuple(map(Relation, _RELATIONS)),
    description="What every memory has: documents, entities and facts, and the relations of documents and messages.",
)
MEMORY = Pack(
    pack="memory",
    version=1,
    kinds=tuple(map(Kind, _RECORD_KINDS)),
    description="Records of experience: episodes, skills, reflections, preferences and rules.",
)
BUILT_IN = {pack.pack: pack for pack in (DEFAULT, MEMORY)}
