"""Faults of deployments, by the rule that each one breaks."""

import json
from collections.abc import Callable
from typing import Any

import grpc
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp
from palimpsest.v1 import retrieval_pb2 as retrieval
from palimpsest.v1 import writer_service_pb2 as writes

from tests.acceptance.faulty_deployment import Fault, Forward


def asking(change: Callable[[Any], object]) -> Fault:
    """The question is changed on its way."""

    def fault(request: Any, forward: Forward) -> Any:
        change(request)
        return forward(request)

    return fault


def answering(change: Callable[[Any], object]) -> Fault:
    """The answer is changed on its way."""

    def fault(request: Any, forward: Forward) -> Any:
        answer = forward(request)
        change(answer)
        return answer

    return fault


def swallowing(answer: Callable[[Any], Message], code: grpc.StatusCode) -> Fault:
    """Where the real deployment refuses with a code, it is answered."""

    def fault(request: Any, forward: Forward) -> Any:
        try:
            return forward(request)
        except grpc.RpcError as error:
            if error.code() is not code:
                raise
            return answer(request)

    return fault


def doing_nothing(answer: Callable[[Any], Message]) -> Fault:
    """What is told is answered, and dropped."""
    return lambda request, _: answer(request)


class Leak(grpc.RpcError):  # type: ignore[misc]  # grpc ships no types
    """An error that tells of the inside of a service, without a reason."""

    def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.UNKNOWN

    def details(self) -> str:
        return 'Traceback (most recent call last): File "store.py": asyncpg: SELECT * FROM facts'

    def trailing_metadata(self) -> tuple[()]:
        return ()


def leaking(request: Any, forward: Forward) -> Any:
    """Each error tells of the inside."""
    try:
        return forward(request)
    except grpc.RpcError:
        raise Leak from None


class Renaming:
    """Each delivery of an observation becomes another event, so that duplicates are stored."""

    def __init__(self) -> None:
        self._number = 0

    def __call__(self, request: Any, forward: Forward) -> Any:
        self._number += 1
        if request.observation.source.external_id:
            request.observation.source.external_id += f"~{self._number}"
        return forward(request)


class Remembering:
    """What was answered once is answered for ever."""

    def __init__(self) -> None:
        self._answers: dict[bytes, Any] = {}

    def __call__(self, request: Any, forward: Forward) -> Any:
        asked = type(request)()
        asked.CopyFrom(request)
        if "consistency_token" in asked.DESCRIPTOR.fields_by_name:
            asked.ClearField("consistency_token")
        known = asked.SerializeToString(deterministic=True)
        if known not in self._answers:
            self._answers[known] = forward(request)
        return self._answers[known]


class OneNamespace:
    """All namespaces are one: the first of which one was asked for."""

    def __init__(self) -> None:
        self._names: list[str] = []

    def __call__(self, request: Any, forward: Forward) -> Any:
        self._names.append(request.namespace)
        request.namespace = self._names[0]
        return forward(request)


def now() -> Timestamp:
    made = Timestamp()
    made.GetCurrentTime()
    return made


def rounded(answer: Any) -> None:
    """Numbers go through a double."""
    said = answer.observation.observation
    said.data = json.dumps(json.loads(said.data, parse_int=float)) if said.data else ""


def swapped(answer: Any) -> None:
    """The first two results change places."""
    if len(answer.results) > 1:
        first, second = answer.results[0], answer.results[1]
        kept = type(first)()
        kept.CopyFrom(first)
        first.CopyFrom(second)
        second.CopyFrom(kept)


def of_text(change: Callable[[str], str]) -> Callable[[Any], None]:
    def changed(request: Any) -> None:
        for message in request.messages:
            message.text = change(message.text)

    return changed


def without_words(answer: Any) -> None:
    """No hit was found by its words."""
    kept = [hit for hit in answer.hits if all(each.signal != retrieval.SIGNAL_LEXICAL for each in hit.signals)]
    del answer.hits[:]
    answer.hits.extend(kept)


def a_change_dropped(message: Any, _: Forward) -> Any:
    """Of ten changes the fifth is not told."""
    kept = [each for each in message.changes if each.observation.observation.source.external_id != "w4"]
    del message.changes[:]
    message.changes.extend(kept)
    return message


def more_to_spend(request: Any) -> None:
    """Packs are made for twice the budget."""
    amount = request.budget.WhichOneof("amount")
    if amount:
        setattr(request.budget, amount, 2 * getattr(request.budget, amount))


def irrelevant_kept(request: Any, forward: Forward) -> Any:
    """Whatever is nearest is an answer."""
    request.keep_irrelevant = True
    answer = forward(request)
    answer.ClearField("abstention")
    return answer


def an_item_lost(answer: Any) -> None:
    """The second page begins with its second item."""
    if answer.entities and not answer.next_page_token:
        del answer.entities[0]


def all_supported(answer: Any) -> None:
    for each in answer.sentences:
        each.verdict = retrieval.VERDICT_SUPPORTED


def known_now(request: Any) -> None:
    request.at.ClearField("known_at")


ALREADY, UNCLEAR = grpc.StatusCode.ALREADY_EXISTS, grpc.StatusCode.FAILED_PRECONDITION

FAULTS: dict[str, tuple[str, Callable[[], dict[str, Fault]]]] = {
    "what is written is dropped": ("SH-1", lambda: {
        "RecordObservation": doing_nothing(lambda _: writes.RecordObservationResponse())}),
    "pages of any size": ("SH-5", lambda: {
        "ListEntities": asking(lambda request: setattr(request, "page_size", min(request.page_size, 1000)))}),
    "one namespace for all": ("NS-1", lambda: dict.fromkeys(
        ("Search", "ListFacts", "ListEntities"), OneNamespace())),
    "a lost update of settings": ("NS-2", lambda: {
        "UpdateNamespaceSettings": asking(lambda request: request.ClearField("expected_version"))}),
    "labels are ignored": ("AC-3", lambda: {"Search": asking(lambda request: request.filter.ClearField("scopes"))}),
    "labels take places in the ranking": ("AC-4", lambda: {
        "Search": asking(lambda request: request.filter.ClearField("scopes"))}),
    "data is forgotten": ("OB-1", lambda: {
        "GetObservation": answering(lambda answer: answer.observation.observation.ClearField("data"))}),
    "ids of the server's own": ("OB-2", lambda: {
        "RecordObservation": answering(lambda answer: setattr(answer.result, "observation_id", "obs-" + "0" * 24))}),
    "duplicates are stored": ("OB-3", lambda: {"RecordObservation": Renaming()}),
    "duplicates are not told": ("OB-3", lambda: {
        "RecordObservation": answering(lambda answer: setattr(answer.result, "duplicate", False))}),
    "other content is taken for a duplicate": ("OB-3", lambda: {
        "RecordObservation": swallowing(lambda _: writes.RecordObservationResponse(), ALREADY)}),
    "failed assertions are not told": ("OB-4", lambda: {
        "GetObservation": answering(lambda answer: answer.observation.ClearField("failed_assertions"))}),
    "seconds only": ("OB-5", lambda: {
        "GetObservation": answering(
            lambda answer: setattr(answer.observation.observation.occurred_at, "nanos", 0))}),
    "an item of a batch is dropped": ("OB-6", lambda: {
        "BatchRecordObservations": answering(lambda answer: answer.results.pop())}),
    "each delivery is a new event": ("OB-7", lambda: {"RecordObservation": Renaming()}),
    "numbers are doubles": ("OB-8", lambda: {"GetObservation": answering(rounded)}),
    "NUL is cut out": ("OB-8", lambda: {
        "RecordObservation": asking(lambda request: setattr(
            request.observation, "content", request.observation.content.replace("\0", "")))}),
    "the last to arrive wins": ("EN-1", lambda: {
        "RecordObservation": asking(lambda request: request.observation.occurred_at.CopyFrom(now()))}),
    "placeholders are entities": ("EN-2", lambda: {
        "GetEntity": answering(lambda answer: setattr(answer.entity, "placeholder", False))}),
    "drafts are found": ("EN-5", lambda: {
        "Search": asking(lambda request: setattr(request.filter, "include_drafts", True))}),
    "restoring does nothing": ("EN-6", lambda: {
        "RestoreItem": doing_nothing(lambda _: writes.RestoreItemResponse(changed=True))}),
    "another agent's rules are given": ("EN-7", lambda: {
        "Search": asking(lambda request: request.filter.scopes.append(f"agent:nobody-of-{request.namespace}"))}),
    "only the first evidence counts": ("FA-2", lambda: {
        "GetFact": answering(lambda answer: answer.fact.observation_ids.pop() if answer.fact.observation_ids else 0)}),
    "superseded facts stay open": ("FA-5", lambda: {
        "GetFact": answering(lambda answer: answer.fact.ClearField("valid_to"))}),
    "conflicts are not marked": ("FA-7", lambda: {
        "CompileContext": answering(
            lambda answer: [item.ClearField("rival_fact_ids") for item in answer.pack.items])}),
    "redaction is only answered": ("FA-8", lambda: {
        "RedactObservation": doing_nothing(lambda _: writes.RedactObservationResponse())}),
    "of two matches one is chosen": ("FA-9", lambda: {
        "MarkObsolete": swallowing(lambda _: writes.MarkObsoleteResponse(), UNCLEAR)}),
    "the past is told as known now": ("FA-10", lambda: {"ListFacts": asking(known_now)}),
    "history is in reverse": ("FA-11", lambda: {"GetFactHistory": answering(lambda answer: answer.events.reverse())}),
    "wrong facts stay true": ("FA-12", lambda: {
        "ListFacts": asking(lambda request: setattr(request, "include_history", True))}),
    "texts are trimmed": ("DO-1", lambda: {
        "GetSource": answering(lambda answer: setattr(answer, "text", answer.text.strip()))}),
    "the last chunk is lost": ("DO-2", lambda: {"ListChunks": answering(lambda answer: answer.chunks.pop())}),
    "sweeping previews sweep": ("DO-5", lambda: {
        "CompleteVaultRun": asking(lambda request: setattr(request, "dry_run", False))}),
    "curation never ends": ("CU-1", lambda: {"RunCuration": answering(lambda answer: setattr(answer, "done", False))}),
    "vectors change places": ("EM-1", lambda: {"Embed": answering(swapped)}),
    "vectors of batches are mixed": ("EM-2", lambda: {"Embed": answering(swapped)}),
    "any fingerprint will do": ("EM-4", lambda: {
        "Embed": asking(lambda request: request.ClearField("expected_fingerprint"))}),
    "words do not count": ("RE-1", lambda: {"Search": answering(without_words)}),
    "the nearest are not found": ("RE-2", lambda: {"Search": answering(lambda answer: answer.hits.pop(0))}),
    "walks of any length": ("RE-3", lambda: {
        "Traverse": asking(lambda request: setattr(request, "depth", min(request.depth, 3)))}),
    "anything is better than nothing": ("RE-4", lambda: {"Search": irrelevant_kept}),
    "budgets are doubled": ("RE-6", lambda: {"CompileContext": asking(more_to_spend)}),
    "what is unsure is told as sure": ("RE-6a", lambda: {
        "CompileContext": answering(lambda answer: [item.ClearField("hypothesis") for item in answer.pack.items])}),
    "items come from nowhere": ("RE-7", lambda: {
        "CompileContext": answering(lambda answer: [item.ClearField("provenance") for item in answer.pack.items])}),
    "packs tell the time": ("RE-8", lambda: {
        "CompileContext": answering(
            lambda answer: setattr(answer.pack, "rendered", f"{answer.pack.rendered} {now().ToNanoseconds()}"))}),
    "traces without candidates": ("RE-9", lambda: {
        "GetContextTrace": answering(lambda answer: answer.trace.ClearField("candidates"))}),
    "walks go both ways": ("RE-10", lambda: {"Traverse": asking(lambda request: request.ClearField("direction"))}),
    "a page begins late": ("RE-11", lambda: {"ListEntities": answering(an_item_lost)}),
    "tokens are not looked at": ("RE-12", lambda: {
        "GetEntity": asking(lambda request: request.ClearField("consistency_token"))}),
    "changes are lost": ("RE-13", lambda: {"Watch": a_change_dropped}),
    "deltas are whole packs": ("RE-14", lambda: {
        "CompileContext": asking(lambda request: request.ClearField("since_pack_id"))}),
    "all is supported": ("RE-15", lambda: {"Verify": answering(all_supported)}),
    "bots speak for their owners": ("CP-1", lambda: {
        "CaptureMessages": asking(lambda request: [setattr(each, "bot", False) for each in request.messages])}),
    "what the memory told is stored": ("CP-2", lambda: {
        "CaptureMessages": asking(of_text(lambda text: text.replace("e", "3").replace("o", "0")))}),
    "secrets are stored": ("CP-3", lambda: {
        "CaptureMessages": asking(of_text(lambda text: text.replace("password: ", "")))}),
    "quotes are not checked": ("CP-4", lambda: {
        "ProposeFacts": answering(lambda answer: [each.ClearField("error") for each in answer.results])}),
    "versions are written over": ("DP-1", lambda: {
        "RegisterPack": swallowing(lambda _: writes.RegisterPackResponse(duplicate=True), ALREADY)}),
    "strict mode tells nothing": ("DP-2", lambda: {
        "RecordObservation": answering(lambda answer: answer.result.ClearField("failed_assertions"))}),
    "personal data leaves unseen": ("PR-2", lambda: {
        "ListAuditEvents": answering(lambda answer: answer.ClearField("events"))}),
    "the audit is edited": ("AU-1", lambda: {
        "ListAuditEvents": answering(lambda answer: [setattr(each, "actor", "nobody") for each in answer.events])}),
    "redacted content stays": ("AU-2", lambda: {
        "RedactObservation": doing_nothing(lambda _: writes.RedactObservationResponse(
            receipt={"receipt_id": "r", "audit_hash": "h"}))}),
    "purges are only counted": ("AU-3", lambda: {
        "Purge": asking(lambda request: setattr(request, "dry_run", True))}),
    "traces are cached": ("AU-3", lambda: {"GetContextTrace": Remembering()}),
    "previews roll back": ("AU-4", lambda: {
        "RollbackSource": asking(lambda request: setattr(request, "dry_run", False))}),
    "labels are not shown": ("AC-5", lambda: {
        "GetEntity": answering(lambda answer: answer.entity.ClearField("scopes"))}),
    "duplicates are never proposed": ("EN-1a", lambda: {
        "ListDuplicateProposals": answering(lambda answer: answer.ClearField("proposals"))}),
    "episodes are like all else": ("EN-3", lambda: {
        "GetEntity": answering(lambda answer: answer.entity.ClearField("kind"))}),
    "reviewers are forgotten": ("EN-4", lambda: {
        "GetEntity": answering(lambda answer: answer.entity.ClearField("provenance"))}),
    "it is always now": ("FA-1", lambda: {"ListFacts": asking(lambda request: request.ClearField("at"))}),
    "attributes are forgotten": ("FA-3", lambda: {
        "GetFact": answering(lambda answer: answer.fact.ClearField("attributes"))}),
    "all is inferred": ("FA-4", lambda: {"GetFact": answering(lambda answer: setattr(answer.fact, "evidence", 2))}),
    "ends without a reason": ("FA-6", lambda: {
        "GetFact": answering(lambda answer: answer.fact.ClearField("closure"))}),
    "texts without titles are embedded": ("DO-3", lambda: {
        "ListChunks": answering(lambda answer: [setattr(each, "content_hash", "0" * 64) for each in answer.chunks])}),
    "texts never are the same": ("DO-4", lambda: {
        "RetainArticle": asking(lambda request: setattr(
            request.article, "text", f"{request.article.text} {now().ToNanoseconds()}"))}),
    "nothing is closed": ("DO-6", lambda: {
        "ReconcileSnapshot": answering(lambda answer: answer.ClearField("facts_closed"))}),
    "links do not wait": ("DO-7", lambda: {
        "ListLinkClaims": answering(lambda answer: answer.ClearField("claims"))}),
    "bodies come later": ("DO-8", lambda: {"GetSource": answering(lambda answer: answer.ClearField("text"))}),
    "deleted sources stay": ("DO-9", lambda: {"DeleteSource": doing_nothing(lambda _: writes.DeleteSourceResponse())}),
    "health is always well": ("CU-2", lambda: {
        "GetMemoryHealth": answering(lambda answer: answer.health.ClearField("stripped"))}),
    "vectors never come": ("EM-3", lambda: {
        "ListChunks": answering(lambda answer: [each.ClearField("embedded") for each in answer.chunks])}),
    "empty for no reason": ("RE-5", lambda: {"Search": answering(lambda answer: answer.ClearField("abstention"))}),
    "the queue is made up": ("CP-5", lambda: {
        "GetExtractionQueue": answering(lambda answer: setattr(answer.queue, "depth", 5))}),
    "personal data is not marked": ("PR-1", lambda: {
        "GetEntity": answering(lambda answer: answer.entity.ClearField("pii_categories"))}),
    "no health": ("OP-1", dict),
    "errors tell of the inside": ("OP-2", lambda: dict.fromkeys(
        ("Search", "GetFact", "GetEntity", "RecordObservation", "ListFacts"), leaking)),
}  # fmt: skip
"""By what is wrong: the rule, and what makes the faults; each is made anew, for some remember."""
