"""A Markdown file as an article: its text byte for byte, its fields, and what it links to."""

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from palimpsest.v1.document_pb2 import DocumentAssertion
from palimpsest.v1.link_pb2 import LinkAssertion, LinkTarget
from palimpsest.v1.reference_pb2 import EntityRef, Provenance, SourceIdentity
from palimpsest.v1.writer_service_pb2 import RetainArticleRequest

from cli.sources.assertions import can_be_id, moment_of, reference, timestamp, title
from cli.sources.document_names import DocumentNames, is_markdown, resolved
from cli.sources.front_matter import FrontMatter, read_front_matter
from cli.sources.markdown_files import MarkdownFile, MarkdownFolder
from cli.sources.markdown_links import Outline, read_outline, wiki_target

SYSTEM = "vault"
# An observation's 200 assertions, less the entity and the document.
MOST_LINKS = 198
_MOST_ALIASES, _ALIAS_CHARACTERS = 50, 512
_META_BYTES, _VAULT_BYTES = 16_384, 512
_SHORT_CHARACTERS = 200
_TYPED_KEY = re.compile(r"(?P<type>[a-z0-9][a-z0-9_.-]{0,63}):(?P<id>[^/\s].*)")
_FIELDS_OF_THEIR_OWN = frozenset({"title", "aliases"})


class UnreadableDocument(Exception):
    """A file cannot become a document; the message says why."""


class EmptyDocument(UnreadableDocument):
    """A file has no text: there is nothing to store, and nothing wrong."""


@dataclass(frozen=True)
class Document:
    """A file that was read."""

    file: MarkdownFile
    text: str
    matter: FrontMatter
    outline: Outline

    @property
    def title(self) -> str:
        """What its front matter says, else its first heading, else its file's name."""
        return title(self.matter.text("title") or self.outline.heading or PurePosixPath(self.file.path).stem)

    @property
    def aliases(self) -> list[str]:
        """Its other names."""
        names = [name for name in self.matter.texts("aliases") if len(name) <= _ALIAS_CHARACTERS]
        return list(dict.fromkeys(names))[:_MOST_ALIASES]


def read_document(file: MarkdownFile) -> Document:
    """Reads a file. Raises UnreadableDocument."""
    try:
        text = file.location.read_bytes().decode("utf-8")
    except OSError as error:
        raise UnreadableDocument(f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UnreadableDocument(f"not UTF-8 at byte {error.start}") from None
    if not text.strip():
        raise EmptyDocument("empty")
    if not can_be_id(file.path):
        raise UnreadableDocument("the path is too long, or holds control characters")
    matter = read_front_matter(text)
    return Document(file, text, matter, read_outline(matter.body))


def article_of(document: Document, folder: MarkdownFolder, names: DocumentNames) -> RetainArticleRequest:
    """The request that retains a document, less its namespace and run. Equal files in equal surroundings are one write,
    wherever they lie."""
    file = document.file
    change = file.last_change
    request = RetainArticleRequest(
        occurred_at=moment_of(change.committed_at) if change else timestamp(file.modified_at()),
        article=_article(document),
        links=_links(document, folder, names),
    )
    # All of it but where it was read: a file that goes back to an old form at a later time is told of anew.
    revision = hashlib.sha256(request.SerializeToString(deterministic=True)).hexdigest()
    request.source.CopyFrom(
        SourceIdentity(system=SYSTEM, stream=folder.name, external_id=document.file.path, revision=revision)
    )
    request.provenance.CopyFrom(_provenance(document, folder))
    return request


def vault_name(folder: MarkdownFolder) -> str:
    """What a folder is called as a vault: its place in its repository, wherever that is checked out, else its path."""
    repository = folder.repository
    if repository is None:
        return _shortened(folder.folder.as_posix())
    return _shortened(f"{repository.address or repository.name}//{folder.path_in_repository('.')}")


def _shortened(name: str) -> str:
    """The name, as long as the contract has it."""
    if len(name.encode()) <= _VAULT_BYTES:
        return name
    return f"sha256:{hashlib.sha256(name.encode()).hexdigest()}"


def _article(document: Document) -> DocumentAssertion:
    return DocumentAssertion(
        entity=reference("doc", document.file.path),
        title=document.title,
        text=document.text,
        media_type="text/markdown",
        meta=_json_within(_tags(document), _META_BYTES) or _json_within(_plain_tags(document), _META_BYTES),
        source_path=document.file.path,
    )


def _tags(document: Document) -> dict[str, Any]:
    """What the front matter says. The writer reads kind, aliases and author of it, and keeps the rest as attributes."""
    aliases = {"aliases": document.aliases} if document.aliases else {}
    own = {name: value for name, value in document.matter.fields.items() if name not in _FIELDS_OF_THEIR_OWN}
    return own | aliases


def _plain_tags(document: Document) -> dict[str, Any]:
    """The same, less what is long or nested."""
    return {name: value for name, value in _tags(document).items() if _is_short(value)}


def _is_short(value: object) -> bool:
    return isinstance(value, int | float) or (isinstance(value, str) and len(value) <= _SHORT_CHARACTERS)


def _links(document: Document, folder: MarkdownFolder, names: DocumentNames) -> Iterator[LinkAssertion]:
    path = document.file.path
    links = [
        *((relation, _related(relation, target, path, names)) for relation, target in document.matter.relations),
        *(("LINKS_TO", _named(name, path, names)) for name in document.outline.links.wiki),
        *(("LINKS_TO", _linked(target, document, folder, names)) for target in document.outline.links.relative),
    ]
    # By their bytes: messages have no hash.
    distinct = {(relation, target.SerializeToString()): (relation, target) for relation, target in links if target}
    itself = reference("doc", path)
    for relation, target in list(distinct.values())[:MOST_LINKS]:
        assertion = LinkAssertion(source=itself, relation=relation)
        assertion.MergeFrom(target)
        if assertion.entity != itself:
            yield assertion


def _related(relation: str, target: str, path: str, names: DocumentNames) -> LinkAssertion | None:
    """What a relation of the front matter leads to: a wiki link, a path, a key `type:id`, or a name."""
    wiki = wiki_target(target)
    found = names.by_name(wiki or target, path)
    if found:
        return LinkAssertion(entity=reference("doc", found))
    if wiki:
        return _waiting(wiki)
    typed = _TYPED_KEY.fullmatch(target)
    if typed and can_be_id(typed["id"]):
        return LinkAssertion(entity=reference(typed["type"], typed["id"]))
    if relation == "PART_OF_PROJECT" and can_be_id(target):
        return LinkAssertion(entity=reference("project", target))
    return _waiting(target)


def _named(name: str, path: str, names: DocumentNames) -> LinkAssertion | None:
    found = names.by_name(name, path)
    if found:
        return LinkAssertion(entity=reference("doc", found))
    return _waiting(name) if is_markdown(name) else None  # a picture that is shown in the text


def _linked(target: str, document: Document, folder: MarkdownFolder, names: DocumentNames) -> LinkAssertion | None:
    """What a relative link leads to: a document of the folder, or a file, by the key that commits mention it under."""
    origin = document.file.path
    found = names.by_path(target, origin)
    if found:
        return LinkAssertion(entity=reference("doc", found))
    path = resolved(target, origin)
    if path is None or not can_be_id(path):
        return None
    location = folder.folder / path
    if location.is_file():
        return LinkAssertion(entity=_file(folder.path_in_repository(path)))
    return None if location.is_dir() else _waiting(path)


def _file(path: str) -> EntityRef | None:
    return reference("file", path) if can_be_id(path) else None


def _waiting(target: str) -> LinkAssertion | None:
    """A link to what is not there (yet)."""
    if not can_be_id(target):
        return None
    return LinkAssertion(reference=LinkTarget(kind="document", ref=target, source_hint=SYSTEM))


def _provenance(document: Document, folder: MarkdownFolder) -> Provenance:
    file, change, repository = document.file, document.file.last_change, folder.repository
    provenance = Provenance(path=folder.path_in_repository(file.path), uri=file.location.as_uri())
    if repository:
        provenance.repository = repository.address or repository.name
        provenance.branch = repository.branch
    if repository and change:
        provenance.uri = repository.file_uri(change.sha, provenance.path)
        provenance.commit_sha, provenance.author = change.sha, change.author
        provenance.committed_at.CopyFrom(moment_of(change.committed_at))
    return provenance


def _json_within(value: object, most_bytes: int) -> str:
    """The value as JSON; nothing where it is empty or would be refused for its length."""
    text = json.dumps(value, ensure_ascii=False) if value else ""
    return text if len(text.encode("utf-8", "replace")) <= most_bytes else ""
