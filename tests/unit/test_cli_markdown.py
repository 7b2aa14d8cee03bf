"""Markdown folders: what is read, what links to what, and what becomes of front matter."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from palimpsest.v1.writer_service_pb2 import RetainArticleRequest

from cli.sources.document_names import DocumentNames
from cli.sources.documents import (
    MOST_LINKS,
    EmptyDocument,
    UnreadableDocument,
    article_of,
    read_document,
    vault_name,
)
from cli.sources.front_matter import read_front_matter
from cli.sources.markdown_files import MarkdownFile, read_folder
from cli.sources.markdown_links import read_outline


def write(folder: Path, files: dict[str, str | bytes]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def observe(folder: Path, path: str) -> RetainArticleRequest:
    found = read_folder(folder)
    names = DocumentNames(file.path for file in found.files)
    documents = {file.path: read_document(file) for file in found.files}
    for name, document in documents.items():
        names.add_own_names(name, [document.title, *document.aliases])
    return article_of(documents[path], found, names)


def links(request: RetainArticleRequest) -> list[tuple[str, str]]:
    """Relation and target, a waiting one with a question mark."""
    return [
        (link.relation, f"?{link.reference.ref}" if link.HasField("reference") else
         f"{link.entity.typed.type}:{link.entity.typed.id}")
        for link in request.links
    ]  # fmt: skip


def git(folder: Path, *arguments: str, date: str = "2026-03-01T00:30:00+03:00") -> None:
    environment = os.environ | {
        "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@b.c", "GIT_AUTHOR_DATE": date,
        "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@b.c", "GIT_COMMITTER_DATE": date,
    }  # fmt: skip
    subprocess.run(["git", "-C", str(folder), *arguments], env=environment, check=True, capture_output=True)


def test_what_is_read_of_a_folder(tmp_path: Path) -> None:
    """DO-5: hidden folders, tools' folders and links are left out."""
    kept = {"a.md": "a", "deep/b.MD": "b", "c.markdown": "c"}
    left = {".git2/x.md": "x", ".venv/y.md": "y", "node_modules/z.md": "z", "note.txt": "t"}
    write(tmp_path, kept | left)
    (tmp_path / "link.md").symlink_to(tmp_path / "a.md")
    assert [file.path for file in read_folder(tmp_path).files] == sorted(kept)


def test_git_decides_what_is_ignored_and_when_it_changed(tmp_path: Path) -> None:
    """DO-5, OB-5: what git ignores is not read; a committed file has its commit's time, another its own."""
    git(tmp_path, "init", "-q")
    write(tmp_path, {".gitignore": "out/\n", "docs/a.md": "a", "docs/b.md": "b", "out/c.md": "c"})
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "all")
    write(tmp_path, {"docs/b.md": "changed", "docs/new.md": "n"})
    (tmp_path / "gone.md").write_text("x")
    git(tmp_path, "add", "gone.md")
    (tmp_path / "gone.md").unlink()
    files = {file.path: file for file in read_folder(tmp_path / "docs").files}
    assert {name: file.last_change is not None for name, file in files.items()} == {
        "a.md": True, "b.md": False, "new.md": False,
    }  # fmt: skip
    assert [file.path for file in read_folder(tmp_path).files] == ["docs/a.md", "docs/b.md", "docs/new.md"]
    request = observe(tmp_path / "docs", "a.md")
    assert request.occurred_at.ToJsonString() == "2026-02-28T21:30:00Z"
    assert request.provenance.author == "A <a@b.c>"
    assert request.provenance.path == "docs/a.md"
    assert vault_name(read_folder(tmp_path / "docs")) == f"{tmp_path.name}//docs"


def test_the_same_file_is_the_same_observation(tmp_path: Path) -> None:
    """OB-3, DO-4: reading again changes nothing; another text, or the old one at a later time, is told of anew."""
    write(tmp_path, {"a.md": "# A\n\none"})
    revisions = []
    for text, changed_at in (("one", 1000), ("one", 1000), ("two", 2000), ("one", 3000)):
        write(tmp_path, {"a.md": text})
        os.utime(tmp_path / "a.md", (changed_at, changed_at))
        revisions.append(observe(tmp_path, "a.md").source.revision)
    assert revisions[0] == revisions[1]
    assert len(set(revisions)) == 3


def test_the_text_is_kept_byte_for_byte(tmp_path: Path) -> None:
    """OB-8, DO-1: line ends, front matter and byte order mark included."""
    raw = "\ufeff---\r\ntitle: Т\r\n---\r\n# Н\r\n\r\ntext  \r\n"
    write(tmp_path, {"a.md": raw})
    document = observe(tmp_path, "a.md").article
    assert document.text == raw
    assert document.title == "Т"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("---\ntitle: From front matter\n---\n# Heading", "From front matter"),
        ("intro\n\n## Second level\n\n# The `first` *level*", "The first level"),
        ("## Only second", "Only second"),
        ("Setext\n======\n", "Setext"),
        ("```\n# code\n```\n", "note"),
        ("no heading", "note"),
    ],
)
def test_the_title(tmp_path: Path, text: str, title: str) -> None:
    write(tmp_path, {"note.md": text})
    assert observe(tmp_path, "note.md").article.title == title


def test_links_out_of_text_and_not_out_of_code() -> None:
    """DO-5: wiki and relative links, each once; none of a code span, a code block, or another site."""
    outline = read_outline(
        "[[One]] and [[One|again]], [[Two#Part|two]], ![[picture.png]], `[[no]]` and [[snake_case_name]]\n\n"
        "    [[indented code]]\n\n```\n[[fenced]] [x](fenced.md)\n```\n\n"
        "[a](b.md#part) [c](<with space.md>) [d](%D1%84.md) [site](https://host/e.md) "
        "[mail](mailto:a@b.c) [here](#top)\n"
        "[ref]\n\n[ref]: ../up.md\n"
    )
    assert outline.links.wiki == ("One", "Two", "picture.png", "snake_case_name")
    assert outline.links.relative == ("b.md", "with space.md", "ф.md", "../up.md")


def test_what_links_lead_to(tmp_path: Path) -> None:
    """DO-5, DO-7: a document of the folder by its key, a file as commits mention it, else a claim that waits."""
    text = (
        "[[Beta]] [[sub/deep]] [[Второе Имя]] [[Nowhere]] [r](sub/deep.md) [f](data.csv) [g](gone.md) [o](../../out.md)"
    )
    files = {
        "a.md": text + " [[a]] ![[pic.png]]", "other/beta.md": "b", "sub/deep.md": "d", "data.csv": "1",
        "x.md": "---\naliases: [второе имя]\n---\n",
    }  # fmt: skip
    assert links(observe(write(tmp_path, {**files, "x.md": files["x.md"] + "x"}), "a.md")) == [
        ("LINKS_TO", "doc:other/beta.md"),
        ("LINKS_TO", "doc:sub/deep.md"),
        ("LINKS_TO", "doc:x.md"),
        ("LINKS_TO", "?Nowhere"),
        ("LINKS_TO", "file:data.csv"),
        ("LINKS_TO", "?gone.md"),
    ]


def test_a_name_that_several_claim_is_not_guessed() -> None:
    """EN-1a: of equal file names the nearest is meant; of equal titles none."""
    names = DocumentNames(["x/note.md", "note.md", "y/z/note.md", "p.md", "q.md"])
    names.add_own_names("p.md", ["Plan"])
    names.add_own_names("q.md", ["plan"])
    assert names.by_name("Note", "x/other.md") == "x/note.md"
    assert names.by_name("note", "w/other.md") == "note.md"
    assert names.by_name("y/z/note", "w/other.md") == "y/z/note.md"
    assert names.by_name("Plan", "w/other.md") is None


def test_relations_of_the_front_matter(tmp_path: Path) -> None:
    """DO-5: SUPERSEDED_BY and PART_OF_PROJECT lead to documents, keys and projects; other fields are attributes."""
    text = (
        "---\ntitle: T\nSUPERSEDED_BY: [[b]]\npart-of-project: Альфа\ndepends_on: ['service:billing', b.md, nowhere]\n"
        "OWNED_BY: person:anna\nstatus: draft\ndate: 2026-03-01\ntags: [x, y]\nsize: 1.50\n---\nbody\n"
    )
    observation = observe(write(tmp_path, {"a.md": text, "b.md": "b"}), "a.md")
    assert links(observation) == [
        ("SUPERSEDED_BY", "doc:b.md"),
        ("PART_OF_PROJECT", "project:Альфа"),
        ("DEPENDS_ON", "service:billing"),
        ("DEPENDS_ON", "doc:b.md"),
        ("DEPENDS_ON", "?nowhere"),
        ("OWNED_BY", "person:anna"),
    ]
    tags = json.loads(observation.article.meta)
    assert tags == {"status": "draft", "date": "2026-03-01", "tags": ["x", "y"], "size": 1.5}


@pytest.mark.parametrize(
    "matter",
    [
        "a: [unclosed",
        "a: !!python/object/apply:os.system ['true']",
        "a: &a [x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b, *b, *b]\n"
        "d: &d [*c, *c, *c, *c, *c, *c, *c, *c]\ne: [*d, *d, *d, *d, *d, *d, *d, *d]",
        "- a list\n- and no fields",
        "just a text",
        "a: &a [*a]",
    ],
)
def test_front_matter_that_is_none_costs_nothing_but_its_fields(tmp_path: Path, matter: str) -> None:
    """OP-2: broken, hostile or endless YAML loses no text."""
    text = f"---\n{matter}\n---\n# Heading\n"
    observation = observe(write(tmp_path, {"a.md": text}), "a.md")
    assert observation.article.text == text
    assert not observation.article.meta


def test_what_no_stored_text_can_hold_is_replaced() -> None:
    """OB-8: YAML can escape a NUL, in names too."""
    assert read_front_matter('---\n"k\\0": ["x\\0y"]\n---\n').fields == {"k\ufffd": ["x\ufffdy"]}


def test_many_links_stay_within_the_contract(tmp_path: Path) -> None:
    text = " ".join(f"[[n{number}]]" for number in range(500))
    observation = observe(write(tmp_path, {"a.md": text}), "a.md")
    assert len(links(observation)) == MOST_LINKS == 198


@pytest.mark.parametrize(
    ("name", "content", "failure", "reason"),
    [
        ("a.md", b"\xff\xfe", UnreadableDocument, "not UTF-8"),
        ("a.md", b" \n", EmptyDocument, "empty"),
        ("line\nend.md", b"x", UnreadableDocument, "control characters"),
    ],
)
def test_files_that_cannot_be_stored(
    tmp_path: Path, name: str, content: bytes, failure: type[Exception], reason: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(failure, match=reason):
        read_document(MarkdownFile(name, path, None))
