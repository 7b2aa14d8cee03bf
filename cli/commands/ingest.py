"""`palimpsest ingest`: a folder of Markdown."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from palimpsest.v1.writer_service_pb2 import (
    BeginVaultRunRequest,
    CompleteVaultRunRequest,
    CompleteVaultRunResponse,
    RetainArticleRequest,
)

from cli.failure import ExitCode, Failure
from cli.options import Connection, Data, Json, Namespace, Target, connected
from cli.output import note, say, say_json
from cli.recording import Fate, Outcome
from cli.reporting import leave, show
from cli.retaining import Article, Retainer
from cli.sources.document_names import DocumentNames
from cli.sources.documents import (
    SYSTEM,
    EmptyDocument,
    UnreadableDocument,
    article_of,
    read_document,
    vault_name,
)
from cli.sources.markdown_files import MarkdownFolder, read_folder
from cli.vault_preview import preview

_SHOWN_KEYS = 20


def ingest(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder.")],
    namespace: Namespace = "default",
    vault: Annotated[
        str | None,
        typer.Option("--vault", metavar="NAME", help="What the folder is called.  [default: its repository or path]"),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and write nothing.")] = False,
    no_sweep: Annotated[bool, typer.Option("--no-sweep", help="Keep what the folder no longer has.")] = False,
    target: Target = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Store the Markdown files of a folder, with their front matter and links. The files are only read.

    Left out are hidden folders, node_modules and, in a git repository, what git ignores. Running it again stores only
    what changed, and removes what came from the folder and is no longer in it. A run that is broken off, or that could
    not read a file, removes nothing.
    """
    if not folder.is_dir():
        raise Failure(f"{folder}: not a folder", ExitCode.USAGE)
    found = read_folder(folder)
    if not found.files:
        note(f"{folder}: no Markdown files")
        raise typer.Exit(ExitCode.NOTHING)
    with connected(target, data) as connection:
        if dry_run:
            _preview(connection, found, namespace, sweep=not no_sweep, as_json=as_json)
        else:
            ingest_folder(connection, found, namespace, vault=vault, sweep=not no_sweep, as_json=as_json)


def ingest_folder(
    connection: Connection,
    folder: MarkdownFolder,
    namespace: str,
    *,
    vault: str | None = None,
    sweep: bool = True,
    as_json: bool,
) -> None:
    """Stores the documents of a folder, removes what it no longer has, and reports."""
    begin = BeginVaultRunRequest(namespace=namespace, vault=vault or vault_name(folder))
    vault_run_id = connection.client.writer.BeginVaultRun(begin).vault_run_id
    outcomes = Retainer(connection.client).retain(_items(folder, namespace, vault_run_id))
    tally = show(outcomes, what="Documents", total=len(folder.files), as_json=as_json)
    if sweep and not tally.counts[Fate.REFUSED]:
        complete = CompleteVaultRunRequest(namespace=namespace, vault_run_id=vault_run_id)
        _tell_removed(connection.client.writer.CompleteVaultRun(complete), as_json=as_json)
    elif sweep:
        note("Nothing was removed, because not every file could be stored.")
    leave(tally)


def _tell_removed(swept: CompleteVaultRunResponse, *, as_json: bool) -> None:
    if as_json:
        say_json({"removed": int(swept.removed), "removed_keys": list(swept.removed_keys)})
    elif swept.removed:
        listed = _listed(list(swept.removed_keys), swept.removed)
        say(f"Removed: {swept.removed:,} that the folder no longer has ({listed})")


def _listed(keys: list[str], number: int) -> str:
    shown = ", ".join(keys[:_SHOWN_KEYS])
    return shown if number <= _SHOWN_KEYS else f"{shown} and {number - _SHOWN_KEYS:,} more"


def _preview(connection: Connection, folder: MarkdownFolder, namespace: str, *, sweep: bool, as_json: bool) -> None:
    requests = (item.request for item in _items(folder, namespace, "") if isinstance(item, Article))
    found = preview(connection.client, namespace, requests, system=SYSTEM, stream=folder.name)
    removed = found.removed if sweep else []
    if as_json:
        say_json({"would_store": found.new, "known": found.known, "would_remove": removed})
        return
    say(f"Documents: {found.new:,} would be stored, {found.known:,} known before")
    if removed:
        say(f"{len(removed):,} would be removed ({_listed(removed, len(removed))})")


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


def _items(folder: MarkdownFolder, namespace: str, vault_run_id: str) -> Iterator[Article | Outcome]:
    # Read twice rather than kept: a folder may be larger than the memory.
    names = read_names(folder)
    for file in folder.files:
        try:
            document = read_document(file)
            request = article_of(document, folder, names)
        except EmptyDocument:
            note(f"{file.path}: empty, left out")
        except (UnreadableDocument, OSError, ValueError, OverflowError) as error:
            yield Outcome(file.path, Fate.REFUSED, str(error))
        else:
            if document.matter.problem:
                note(f"{file.path}: stored without its front matter, which is no YAML: {document.matter.problem}")
            request.MergeFrom(RetainArticleRequest(namespace=namespace, vault_run_id=vault_run_id))
            yield Article(file.path, request)
