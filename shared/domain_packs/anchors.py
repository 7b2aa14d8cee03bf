"""Keys of things that a text speaks of, told by the forms that packs give to ids (RE-10). Pure."""

from collections.abc import Iterable

from palimpsest.canonical import nfc

from shared.domain_packs.id_pattern import compile_pattern, found_ids
from shared.domain_packs.key_template import KeyTemplate
from shared.domain_packs.pack import Kind, Pack


def anchors(text: str, packs: Iterable[Pack]) -> list[str]:
    """Keys of what the text names, by packs, kinds and places in the text, each once.

    An id that a pattern finds is the one part of its kind's template, the whole key where the template has its form,
    or stands behind the name of a kind that has none: `kind:id`. The other forms of keys are found too. What cannot be
    made a key is passed over.
    """
    normal = nfc(text)
    return list(dict.fromkeys(key for pack in packs for kind in pack.kinds for key in _of_kind(normal, kind)))


def _of_kind(text: str, kind: Kind) -> list[str]:
    template = KeyTemplate.parse(kind.key_template) if kind.key_template else None
    ids = [found for pattern in kind.id_patterns for found in found_ids(compile_pattern(pattern), text)]
    keys = [key for found in ids if (key := key_of_id(kind.kind, template, found))]
    if template is None:
        return keys
    forms = [KeyTemplate.parse(alias) for alias in kind.aliases]
    return keys + [template.filled(parts) for form in forms for parts in form.find_aliases(text)]


def key_of_id(kind: str, template: KeyTemplate | None, found: str) -> str:
    """The key of an id: empty where the template does not say how to make one."""
    if template is None:
        return f"{kind}:{found}"
    for form in (found, f"{kind}:{found}"):
        if template.match(form):
            return form
    return template.filled({template.names[0]: found}) if len(template.names) == 1 else ""
