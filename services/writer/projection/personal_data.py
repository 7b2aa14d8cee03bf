"""What an observation tells of personal data in the entities that it names (PR-1)."""

from collections import defaultdict
from collections.abc import Mapping

from services.writer.projection.rows import EntityWrite, Projection
from shared.personal_data.masking import Masking
from shared.personal_data.words import Around

_TEXTS = ("title", "url", "author", "source_path", "source_id")
_ATTRIBUTE = "attributes."


def personal_data(projection: Projection) -> Mapping[str, tuple[str, ...]]:
    """The categories found, by the key of the entity: in its key and fields, its text and records, and what facts say
    of it. Entities without any are left out."""
    found: defaultdict[str, Masking] = defaultdict(Masking)
    for entity in projection.entities:
        _seek_in_fields(found[entity.key], entity)
    for fact in projection.facts:
        found[fact.subject_key].seek(fact.sentence, Around(context=fact.predicate))
        for name, value in fact.fields.items():
            if name.startswith(_ATTRIBUTE):
                found[fact.subject_key].seek(value, Around(name), is_json=True)
    for document in projection.documents:
        texts = [document.body] if document.body is not None else [each.text for each in document.passages]
        for text in texts:
            found[document.entity_key].seek(text)
    for passage in projection.passages:
        if passage.owner_key in found:
            found[passage.owner_key].seek(passage.text, Around(context=passage.title))
    return {key: tuple(sorted(masking.found)) for key, masking in sorted(found.items()) if masking.is_needed}


def _seek_in_fields(masking: Masking, entity: EntityWrite) -> None:
    masking.seek(entity.key)
    for name, value in entity.fields.items():
        if name.startswith(_ATTRIBUTE):
            masking.seek(value, Around(name), is_json=True)
        elif name in _TEXTS:
            masking.seek(value)
        elif name == "aliases":
            for alias in value:
                masking.seek(alias)
