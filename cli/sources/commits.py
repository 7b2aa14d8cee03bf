"""A commit as an observation: pure, so that the same commit is the same observation for everybody."""

import json
from collections.abc import Iterator

from palimpsest.v1.entity_pb2 import EntityAssertion
from palimpsest.v1.observation_pb2 import Assertion, Observation
from palimpsest.v1.reference_pb2 import Provenance, SourceIdentity, TypedId

from cli.sources.assertions import can_be_id, link, moment_of, person, reference, title
from cli.sources.git import Repository
from cli.sources.git_history import Commit

SYSTEM = "git"
MOST_FILES = 100
# An octopus has a handful; the contract's 200 assertions must hold them and the files.
MOST_PARENTS = 90


def observe_commit(commit: Commit, repository: Repository) -> Observation:
    """The observation of a commit. Raises ValueError where its time is none that the memory can hold."""
    return Observation(
        source=SourceIdentity(system=SYSTEM, stream=repository.name, external_id=commit.sha),
        kind="commit",
        occurred_at=moment_of(commit.committed_at),
        actor=person(commit.author),
        subject=TypedId(type="commit", id=commit.sha),
        content=commit.message,
        assertions=[_entity(commit, repository), *_links(commit)],
        provenance=_provenance(commit, repository),
    )


def _entity(commit: Commit, repository: Repository) -> Assertion:
    attributes = {"files": len(commit.files), "parents": list(commit.parents[:MOST_PARENTS])}
    return Assertion(
        entity=EntityAssertion(
            entity=reference("commit", commit.sha),
            kind="commit",
            title=title(commit.subject) or f"commit {commit.sha[:12]}",
            source_id=commit.sha,
            url=repository.commit_uri(commit.sha),
            author=commit.author or None,
            source_created_at=moment_of(commit.authored_at),
            attributes=json.dumps(attributes),
        )
    )


def _links(commit: Commit) -> Iterator[Assertion]:
    this = reference("commit", commit.sha)
    for parent in commit.parents[:MOST_PARENTS]:
        yield link(this, "CHILD_OF", reference("commit", parent))
    for path in [path for path in commit.files if can_be_id(path)][:MOST_FILES]:
        yield link(this, "MENTIONS", reference("file", path))


def _provenance(commit: Commit, repository: Repository) -> Provenance:
    return Provenance(
        uri=repository.commit_uri(commit.sha),
        repository=repository.address or repository.name,
        branch=repository.branch,
        commit_sha=commit.sha,
        author=f"{commit.author_name} <{commit.author_email}>".strip(),
        committed_at=moment_of(commit.committed_at),
        # A timestamp keeps the moment; the offset says what the committer's clock showed.
        extra={"committed_at_local": commit.committed_at},
    )
