"""Clients, each a process of its own, as users have them: the client library with its retries, and `palimpsest ingest`.

A client goes on with the item after the last one that its journal calls done. What failed in a way that may pass is
sent again, as it was, until it is told what became of it.
"""

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

import grpc
from palimpsest import ids
from palimpsest.client import Client
from palimpsest.errors import details_of
from palimpsest.v1 import reader_service_pb2 as reads
from palimpsest.v1 import writer_service_pb2 as pb
from palimpsest.v1.governance_pb2 import EMBEDDING_SPACE_STATE_ACTIVE, EMBEDDING_SPACE_STATE_BUILDING
from palimpsest.v1.observation_pb2 import Observation, RecordedObservation
from palimpsest.v1.reference_pb2 import EntityRef
from palimpsest.v1.writer_service_pb2 import RecordObservationResult
from palimpsest.v1.writer_service_pb2_grpc import WriterServiceStub

from tests.faults.crash.journal import Journal
from tests.faults.crash.saying import WORDS, Form, Group, group, own_observation, write_vault
from tests.integration.writing import NAMESPACE

T = TypeVar("T")

VAULT = "vault"
NAMESPACES = (NAMESPACE, VAULT)
CALL_TIMEOUT_S = 20.0
MAY_PASS = (
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
    grpc.StatusCode.ABORTED,
)
_PAUSE_S = 0.1
_CURATION_CALLS = 50
_MOST_WRONG = 20


@dataclass(frozen=True)
class Task:
    """What a client is to do, and where. Plain, so that it can be sent to its process."""

    name: str
    seed: int
    folder: Path
    """Of its journal, and of the file that stops it."""
    writers: str
    readers: str
    until: int | None = None
    """So many items are said; None: until it is stopped."""
    pace_s: float = 0.0
    pages: Path = Path()
    """The folder of a vault."""
    deadline_s: float = CALL_TIMEOUT_S
    """Of a call, with all that the library sends again."""
    max_attempts: int = 5
    """How often the library sends a call while nobody can take it; 1: the client itself does, and notes each error."""
    token: str | None = None

    @property
    def journal(self) -> Journal:
        """What it was told."""
        return Journal(self.folder / f"{self.name}.jsonl")

    @property
    def stop_file(self) -> Path:
        """Stops all clients of the folder, each when its item is done."""
        return self.folder / "stop"

    def items(self) -> Iterator[int]:
        """The items that are to be done, from where it stands."""
        item = self.journal.done()
        while self.until is None or item < self.until:
            # Whoever was killed may have begun it: it is ended, whether all are to stop or not.
            yield item
            item += 1
            time.sleep(self.pace_s)
            if self.stop_file.exists():
                return

    def client(self) -> Client:
        """The library."""
        return Client(
            writer=self.writers,
            reader=self.readers,
            deadline_s=self.deadline_s,
            max_attempts=self.max_attempts,
            token=self.token,
            plaintext_token=self.token is not None,
        )


def record(task: Task) -> None:
    """Records groups of observations, one by one, in batches and by streams."""
    journal = task.journal
    with task.client() as client:
        for item in task.items():
            said = group(task.seed, task.name, item)
            for _ in range(2 if said.again else 1):
                _insist(journal, partial(_send, client, journal, said))
            _read_back(client, journal, said.observations[-1])
            journal.note("done", item=item)


def record_each(task: Task) -> None:
    """Records one observation after the other, and reads each back."""
    journal = task.journal
    with task.client() as client:
        for item in task.items():
            said = own_observation(task.seed, task.name, item)
            _insist(journal, partial(_record_one, client, journal, said))
            _read_back(client, journal, said)
            journal.note("done", item=item)


def operate(task: Task) -> None:
    """Records and redacts, archives, tells the audit and curates."""
    journal = task.journal
    with task.client() as client:
        for item in task.items():
            said = own_observation(task.seed, task.name, item)
            _insist(journal, partial(_record_one, client, journal, said))
            _ACTS[item % len(_ACTS)](client, journal, item, said)
            journal.note("done", item=item)


def ingest_vault(task: Task) -> None:
    """Takes in one version of a folder after the other, by `palimpsest ingest`."""
    import typer

    from cli.commands.ingest import ingest
    from cli.failure import Failure

    journal = task.journal
    for item in task.items():
        write_vault(task.pages, task.seed, item)

        def run() -> None:
            # The command takes one address.
            target = random.choice(task.writers.removeprefix("ipv4:").split(","))
            try:
                ingest(task.pages, VAULT, "pages", False, False, f"writer={target}", None, True)
            except typer.Exit as ended:
                raise Refused(f"exit status {ended.exit_code}") from None
            except Failure as failure:
                raise failure.__cause__ or failure from None

        _insist(journal, run)
        journal.note("done", item=item)


def change_model(task: Task) -> None:
    """Changes the model that is searched by, again and again, and drops the former vectors."""
    journal = task.journal
    with task.client() as client:
        for item in task.items():
            _insist(journal, lambda: _next_step(client.writer))
            journal.note("done", item=item)


def search(task: Task) -> None:
    """Searches, and compiles contexts."""
    journal = task.journal
    with task.client() as client:
        for item in task.items():
            query = " ".join(random.Random(f"{task.seed} {item}").choices(WORDS, k=2))
            _insist(journal, partial(client.search, NAMESPACE, query))
            if item % 2:
                _insist(journal, partial(client.context, NAMESPACE, query))
            journal.note("done", item=item)


def curate(client: Client, journal: Journal, namespace: str) -> None:
    """Curates a namespace until a pass is whole."""
    for _ in range(_CURATION_CALLS):
        if _insist(journal, lambda: client.writer.RunCuration(pb.RunCurationRequest(namespace=namespace))).done:
            return


def observation_id(said: Observation) -> str:
    """What an observation is stored under."""
    return ids.observation_id(NAMESPACE, said.source, content_hash=ids.content_hash(said))


class Refused(Exception):
    """Something was answered that makes no sense."""


def _insist(journal: Journal, call: Callable[[], T]) -> T:
    """What a call answers at last. An error that does not pass is noted, and the call is made again some times."""
    wrong = 0
    while True:
        try:
            return call()
        except grpc.RpcError as error:
            passes = error.code() in MAY_PASS
            reason = details_of(error).reason or str(error.details())[:200]
            journal.note("retried" if passes else "wrong", code=error.code().name, reason=reason)
        except Refused as refused:
            passes = False
            journal.note("wrong", code="REFUSED", reason=str(refused))
        wrong += not passes
        if wrong > _MOST_WRONG:
            raise Refused("the same call fails again and again")
        time.sleep(_PAUSE_S)


def _send(client: Client, journal: Journal, said: Group) -> None:
    if said.form is Form.SINGLES:
        for each in said.observations:
            _record_one(client, journal, each)
        return
    results = client.record_many(NAMESPACE, said.observations) if said.form is Form.BATCH else _stream(client, said)
    for each, result in zip(said.observations, results, strict=True):
        if result.HasField("recorded"):
            _told(journal, each, result.recorded)
        else:
            journal.note("wrong", code=str(result.error.code), reason=result.error.message)


def _record_one(client: Client, journal: Journal, said: Observation) -> None:
    _told(journal, said, client.record(NAMESPACE, said))


def _stream(client: Client, said: Group) -> Iterator[RecordObservationResult]:
    requests = (
        pb.StreamObservationsRequest(sequence=number, namespace=NAMESPACE, observation=each)
        for number, each in enumerate(said.observations)
    )
    for answer in client.writer.StreamObservations(requests, timeout=CALL_TIMEOUT_S):
        yield answer.result


def _told(journal: Journal, said: Observation, recorded: RecordedObservation) -> None:
    """From now on it is acknowledged."""
    expected = observation_id(said)
    if recorded.observation_id != expected:
        journal.note("wrong", code="ID", reason=f"{recorded.observation_id} for {expected}")
    journal.note("told", id=recorded.observation_id, duplicate=recorded.duplicate)


def _read_back(client: Client, journal: Journal, said: Observation) -> None:
    """What was acknowledged is read at once (RE-12)."""
    request = reads.GetObservationRequest(namespace=NAMESPACE, observation_id=observation_id(said))

    def read() -> None:
        try:
            client.reader.GetObservation(request)
        except grpc.RpcError as error:
            if error.code() is not grpc.StatusCode.NOT_FOUND:
                raise
            journal.note("missing", id=request.observation_id)

    _insist(journal, read)


def _redact(client: Client, journal: Journal, item: int, said: Observation) -> None:
    request = pb.RedactObservationRequest(namespace=NAMESPACE, observation_id=observation_id(said), reason="crash")
    receipt = _insist(journal, lambda: client.writer.RedactObservation(request)).receipt
    journal.note("redacted", id=observation_id(said), receipt=receipt.receipt_id)


def _archive(client: Client, journal: Journal, item: int, said: Observation) -> None:
    target = EntityRef(key=said.assertions[-1].entity.entity.key)
    _insist(journal, lambda: client.writer.ArchiveItem(pb.ArchiveItemRequest(namespace=NAMESPACE, entity=target)))


def _audit(client: Client, journal: Journal, item: int, said: Observation) -> None:
    """The one call that is not sent again: of one that fails nobody knows."""
    request = pb.AppendAuditRequest(namespace=NAMESPACE, action="crash.told", target=f"{item}-{time.time_ns()}")
    try:
        client.writer.AppendAudit(request)
    except grpc.RpcError as error:
        journal.note("retried" if error.code() in MAY_PASS else "wrong", code=error.code().name, reason="AppendAudit")
    else:
        journal.note("audited", target=request.target)


def _curate(client: Client, journal: Journal, item: int, said: Observation) -> None:
    for namespace in NAMESPACES:
        curate(client, journal, namespace)


_ACTS = (_redact, _audit, _archive, _audit, _curate)


def _next_step(writer: WriterServiceStub) -> None:
    """What comes next depends on the spaces that are there: what was killed has left any of these."""
    try:
        _take_step(writer)
    except grpc.RpcError as error:
        # The other space is not filled yet, or its model is not served at the moment.
        if error.code() is not grpc.StatusCode.FAILED_PRECONDITION:
            raise


def _take_step(writer: WriterServiceStub) -> None:
    spaces = writer.GetEmbeddingStatus(pb.GetEmbeddingStatusRequest()).spaces
    others = [space for space in spaces if space.state != EMBEDDING_SPACE_STATE_ACTIVE]
    if others and others[0].state == EMBEDDING_SPACE_STATE_BUILDING:
        writer.SwitchEmbedding(pb.SwitchEmbeddingRequest(fingerprint=others[0].fingerprint))
    elif others:
        writer.DropEmbedding(pb.DropEmbeddingRequest(fingerprint=others[0].fingerprint))
    elif spaces:
        writer.StartReembedding(pb.StartReembeddingRequest())
