"""Between the contract's messages and the writer's values."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from palimpsest import ids
from palimpsest.canonical import nfc
from palimpsest.v1.embedder_service_pb2 import ModelFingerprint
from palimpsest.v1.item_error_pb2 import FieldViolation, ItemError
from palimpsest.v1.observation_pb2 import FailedAssertion, Observation, ObservationStatus, RecordedObservation
from palimpsest.v1.reference_pb2 import Permissions, Visibility
from palimpsest.v1.writer_service_pb2 import RecordObservationResult

from services.writer.passage_store import Space
from services.writer.projection.packs import FREE, Packs
from services.writer.projection.project import project
from services.writer.projection.rows import Projection
from services.writer.recording import FailureEntry, Outcome, PreparedObservation, Recorded
from shared.authentication.caller import held_roles
from shared.errors import InvalidField, PalimpsestError, Violation
from shared.interceptors.status import to_item_error
from shared.timestamps import from_datetime

_MOST_ENTITY_KEYS = 1000
_INVALID_ARGUMENT = 3
_PRIVATE = Visibility.VISIBILITY_PRIVATE

_SHARED_WITH = {
    Visibility.VISIBILITY_TEAM: "workspace",
    Visibility.VISIBILITY_ORGANIZATION: "workspace",
    Visibility.VISIBILITY_PROJECT: "workspace",
}


async def prepared(
    namespace: str, observation: Observation, path: str, subject: str, packs: Packs = FREE
) -> PreparedObservation:
    """An observation that is checked already, prepared in a thread. Raises InvalidField."""
    return await asyncio.to_thread(prepare, namespace, observation, path, subject, packs)


def prepare(
    namespace: str, observation: Observation, path: str, subject: str, packs: Packs = FREE
) -> PreparedObservation:
    """An observation that meets its limits as the value that is stored; `subject` is its caller's.

    The applier projects it anew where other packs than `packs` act in the namespace.

    Raises InvalidField for what no single field's limits can say; `path` leads to the observation.
    """
    try:
        return _prepare(namespace, observation, path, subject, held_roles(namespace), packs)
    except RecursionError:
        raise _invalid(path, "must not hold JSON that is nested that deeply") from None


def _prepare(
    namespace: str,
    observation: Observation,
    path: str,
    subject: str,
    roles: frozenset[str] | None,
    packs: Packs,
    denied: Sequence[int] = (),
) -> PreparedObservation:
    source = observation.source
    if source.revision and not source.external_id:
        raise _invalid(f"{path}.source.revision", "must be empty where there is no external_id")
    labelled = _labelled(observation, path, subject)
    content_hash = ids.content_hash(observation)
    observation_id = ids.observation_id(namespace, source, content_hash=content_hash)
    projection = project(namespace, labelled, observation_id, packs, denied=denied)
    return PreparedObservation(
        namespace=namespace,
        observation_id=observation_id,
        content_hash=content_hash,
        source_system=source.system,
        source_stream=source.stream,
        external_id=source.external_id,
        revision=source.revision,
        kind=observation.kind,
        occurred_at=projection.occurred_at,
        actor_key=packs.key(ids.typed_key(observation.actor)) if observation.HasField("actor") else None,
        subject_key=packs.key(ids.typed_key(observation.subject)) if observation.HasField("subject") else None,
        scopes=projection.scopes,
        content=observation.content,
        data=observation.data or None,
        message=_without_content(observation).SerializeToString(deterministic=True),
        trace_id=observation.trace_id,
        assertion_count=len(observation.assertions),
        projection=projection,
        private_to=subject if _is_private(observation) else "",
        packs=packs,
        projected_under=partial(_prepare, namespace, observation, path, subject, roles),
        denied=denied,
        roles=roles,
    )


def reprojected(row: Mapping[str, Any], packs: Packs) -> Projection:
    """The projection of a stored observation, from its whole row."""
    observation = Observation.FromString(row["message"])
    observation.content, observation.data = row["content"], row["data"] or ""
    labelled = _labelled(observation, "observation", row["private_to"])
    return project(row["namespace"], labelled, row["observation_id"], packs, denied=row["denied"])


def assertion_count(message: bytes) -> int:
    """How many assertions a stored observation has."""
    return len(Observation.FromString(message).assertions)


def _without_content(observation: Observation) -> Observation:
    """What is stored as the message: content and data have columns of their own, and its moment no finer digits."""
    copy = Observation()
    copy.CopyFrom(observation)
    copy.occurred_at.nanos -= copy.occurred_at.nanos % 1_000
    copy.ClearField("content")
    copy.ClearField("data")
    return copy


def _labelled(observation: Observation, path: str, subject: str) -> Observation:
    """The observation with the labels that its permissions stand for; itself where it has none (AC-5)."""
    records = [
        (f"{path}.assertions[{index}].record.permissions", index)
        for index, assertion in enumerate(observation.assertions)
        if assertion.HasField("record") and assertion.record.HasField("permissions")
    ]
    if not records and not observation.HasField("permissions"):
        return observation
    copy = Observation()
    copy.CopyFrom(observation)
    copy.scopes.extend(permission_labels(observation.permissions, f"{path}.permissions", subject))
    for record_path, index in records:
        record = copy.assertions[index].record
        record.scopes.extend(permission_labels(record.permissions, record_path, subject))
    return copy


def _is_private(observation: Observation) -> bool:
    """Whether a part of it is private to who recorded it."""
    parts = [observation.permissions]
    parts += [each.record.permissions for each in observation.assertions if each.HasField("record")]
    return any(permissions.visibility == _PRIVATE for permissions in parts)


def permission_labels(permissions: Permissions, path: str, subject: str) -> list[str]:
    """The visibility labels that permissions stand for (AC-5). Raises InvalidField."""
    shared_with = _SHARED_WITH.get(permissions.visibility)
    if bool(permissions.visibility_id) != bool(shared_with):
        words = "is required with this visibility" if shared_with else "must be empty with this visibility"
        raise _invalid(f"{path}.visibility_id", words)
    labels = [f"role:{nfc(role)}" for role in permissions.read_roles]
    if permissions.visibility == _PRIVATE:
        labels.append(f"principal:{subject}")
    if shared_with:
        labels.append(f"{shared_with}:{nfc(permissions.visibility_id)}")
    if permissions.visibility == Visibility.VISIBILITY_PROJECT:
        # Beside what hides it from others: it is that project's, wherever its members ask.
        labels.append(f"project:{nfc(permissions.visibility_id)}")
    return labels


def _invalid(field: str, description: str) -> InvalidField:
    return InvalidField([Violation(field, description)])


def to_result(outcome: Outcome, path: str) -> RecordObservationResult:
    """What became of one observation of many; `path` leads to it in the request."""
    if isinstance(outcome, PalimpsestError):
        return RecordObservationResult(error=to_item_error(outcome))
    return RecordObservationResult(recorded=to_recorded(outcome, path))


def to_recorded(recorded: Recorded, path: str) -> RecordedObservation:
    """What became of an observation that is stored; `path` leads to it in the request."""
    return RecordedObservation(
        observation_id=recorded.observation_id,
        duplicate=recorded.duplicate,
        status=ObservationStatus.Name(recorded.status),
        failed_assertions=_failed_assertions(recorded.failures, path),
        recorded_at=from_datetime(recorded.recorded_at),
        entity_keys=recorded.entity_keys[:_MOST_ENTITY_KEYS],
        fact_ids=recorded.fact_ids,
    )


def _failed_assertions(failures: Sequence[FailureEntry], path: str) -> Iterable[FailedAssertion]:
    # Of several failures of one assertion the first stands for all.
    first = {failure["index"]: failure for failure in reversed(failures)}
    for _, failure in sorted(first.items()):
        error = ItemError(
            code=failure["code"],
            message=failure["message"],
            reason=f"ERROR_REASON_{failure['reason']}",
            metadata=failure.get("metadata", {}),
        )
        if error.code == _INVALID_ARGUMENT:
            error.violations.append(FieldViolation(field=f"{path}.{failure['field']}", description=failure["message"]))
            error.metadata["violations"] = "1"
        yield FailedAssertion(index=failure["index"], error=error)


def to_space(fingerprint: ModelFingerprint) -> Space:
    """The space of an embedder's fingerprint, as it would be stored."""
    return Space(
        fingerprint=fingerprint.id,
        model=fingerprint.model,
        revision=fingerprint.revision,
        query_prefix=fingerprint.query_prefix,
        passage_prefix=fingerprint.passage_prefix,
        pooling=fingerprint.pooling,
        dimension=fingerprint.dimension,
        normalized=fingerprint.normalized,
        table_name=f"vectors_{fingerprint.id.removeprefix('fp-')}",
        state="building",
    )
