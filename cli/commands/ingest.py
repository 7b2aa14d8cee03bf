"""`palimpsest ingest`: a folder of Markdown."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from cli.failure import ExitCode, Failure
from cli.options import Connection, Data, Json, Namespace, Target, connected
from cli.output import note
from cli.recording import Fate, Item, Outcome, Recorder
from cli.reporting import report
from cli.sources.document_names import DocumentNames
from cli.sources.documents import EmptyDocument, UnreadableDocument, observe_document, read_document
from cli.sources.markdown_files import MarkdownFolder, read_folder


def ingest(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder.")],
    namespace: Namespace = "default",
    target: Target = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Store the Markdown files of a folder, with their front matter and links. The files are only read.

    Left out are hidden folders, node_modules and, in a git repository, what git ignores. Running it again stores only
    what changed.
    """
    if not folder.is_dir():
        raise Failure(f"{folder}: not a folder", ExitCode.USAGE)
    found = read_folder(folder)
    if not found.files:
        note(f"{folder}: no Markdown files")
        raise typer.Exit(ExitCode.NOTHING)
    with connected(target, data) as connection:
        ingest_folder(connection, found, namespace, as_json=as_json)


def ingest_folder(connection: Connection, folder: MarkdownFolder, namespace: str, *, as_json: bool) -> None:
    """Stores the documents of a folder, and reports."""
    # The revision covers all that a document says; a conflict is one about where it was read, e.g. on which branch.
    recorder = Recorder(connection.client, conflict_is_known=True)
    outcomes = recorder.record(_items(folder, namespace))
    report(outcomes, what="Documents", total=len(folder.files), as_json=as_json)


def read_names(folder: MarkdownFolder) -> DocumentNames:
    """The names by which the documents of a folder can be linked to."""
    names = DocumentNames(file.path for file in folder.files)
    for file in folder.files:
        try:
            document = read_document(file)
        except UnreadableDocument:
            continue  # told of when it is its turn
        names.add_own_names(file.path, [document.title, *document.aliases])
    return names


def _items(folder: MarkdownFolder, namespace: str) -> Iterator[Item | Outcome]:
    # Read twice rather than kept: a folder may be larger than the memory.
    names = read_names(folder)
    for file in folder.files:
        try:
            document = read_document(file)
            observation = observe_document(document, folder, names)
        except EmptyDocument:
            note(f"{file.path}: empty, left out")
        except (UnreadableDocument, OSError, ValueError, OverflowError) as error:
            yield Outcome(file.path, Fate.REFUSED, str(error))
        else:
            if document.matter.problem:
                note(f"{file.path}: stored without its front matter, which is no YAML: {document.matter.problem}")
            yield Item(file.path, namespace, observation)
