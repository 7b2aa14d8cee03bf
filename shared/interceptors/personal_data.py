"""Masks personal data in all that leaves, for callers without the `pii` clearance; for those who have it, what leaves
is in the audit before (PR-1, PR-2).

One place for all RPCs, in front of the wire: it knows messages by their descriptors alone, so that a new field or RPC
is protected without anybody thinking of it.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from google.protobuf.message import Message
from palimpsest.v1.retrieval_pb2 import ContextPack

from shared import audit
from shared.authentication.caller import Caller, current_caller
from shared.database import Connection, Database, StatementFailed
from shared.errors import AmbiguousMatch, AuditUnavailable, InvalidPageToken, PalimpsestError
from shared.interceptors.deadline import deadline_s_left
from shared.interceptors.strings import (
    IDENTIFIER,
    QUESTION,
    String,
    declarations,
    named_in,
    strings,
    typed_keys,
)
from shared.personal_data.detector import find
from shared.personal_data.masking import Masking, declared_values
from shared.personal_data.protection import Protection, Protections
from shared.personal_data.sealing import seal, unseal
from shared.token_count import token_count

_log = logging.getLogger(__name__)

T = TypeVar("T")

CLEARANCE = "pii"
ACTION = "pii_access"
_STRUCK = "#"
# What takes a millisecond or two where nothing is found.
_QUICK_CHARACTERS = 100_000
_MOST_THINGS = 50
_LONGEST_AUDIT_S = 10.0


@dataclass(frozen=True)
class PersonalData:
    """The guard of a service: `protections` tell where it acts, `audited` is the database that has the audit."""

    protections: Protections
    audited: Database
    has_questions: bool = True
    """Whether requests ask for what is stored: those of the reader do."""

    async def asked(self, request: Any) -> None:
        """Strikes personal data out of what is sought, and opens page tokens that were sealed."""
        if not self.has_questions or _is_cleared():
            return
        protection = await self._protection(request)
        if not protection.is_on:
            return
        for each in strings(request):
            if each.role == QUESTION:
                _strike(each)
        token = getattr(request, "page_token", "")
        if token:
            request.page_token = _unsealed(protection.secret, token)

    async def answered(self, method: str, request: Any, response: Message) -> None:
        """Masks an answer, or puts into the audit what it holds. Raises AuditUnavailable."""
        protection = await self._protection(request)
        if not protection.is_on:
            return
        found = list(strings(response))
        masking = await self._masking(protection, request, response, found)
        touched = await _apart(found, lambda: _sought(masking, found))
        cleared = _is_cleared()
        if touched and (kept := self._named(request, touched)):
            touched, found = _without(touched, kept), _without(found, kept)
        if cleared:
            if touched:
                await self._audit(method, protection.namespace, masking, touched)
            return
        if touched:
            await _apart(found, lambda: _mask(masking, found))
            _recount(response)
        _conceal(protection, request, response)

    async def failed(self, method: str, request: Any, error: PalimpsestError) -> None:
        """Masks what an error tells, unless the audit says that it leaves. Where nobody knows whether to, it does."""
        try:
            # What the call did not wait for in time is not waited for again.
            protection = await self._protection(request, waits=False)
            if not protection.is_on:
                return
            masking = Masking(protection.secret)
            told = [text for text in _told_by(error) if masking.seek(text)]
            if not told:
                return
            if _is_cleared():
                await self._audit(method, protection.namespace, masking, ())
                return
        except PalimpsestError as unknown:
            _log.debug("an error is masked for want of better: %s", unknown.reason)
            masking = Masking()
        _mask_error(masking, error)

    async def _protection(self, request: Any, *, waits: bool = True) -> Protection:
        """The protection of the namespace that a request is about; of a stream of requests that of any of theirs."""
        token = getattr(request, "consistency_token", "")
        found = Protection(is_on=False)
        # Those named so far: while one is asked for, the next message of a stream may name another.
        for namespace in tuple(getattr(request, "namespaces", None) or _only(getattr(request, "namespace", ""))):
            one = await self.protections.of(namespace, token=token, timeout_s=_timeout_s(), waits=waits)
            found = one if one.is_on else found
        return found

    async def _masking(
        self, protection: Protection, request: Any, response: Message, found: Iterable[String]
    ) -> Masking:
        """What is known beforehand to be personal in the answer: what entities that it speaks of declare."""
        named = {each.text for each in found if each.role == IDENTIFIER} | typed_keys(response)
        keys = {_key(each) for each in named}
        declared = await self.protections.declared(
            protection.namespace,
            keys=keys,
            fact_ids=[key for key in keys if key.startswith("fact-")],
            pack_id=getattr(request, "pack_id", ""),
            token=getattr(request, "consistency_token", ""),
            timeout_s=_timeout_s(),
        )
        for said in declarations(response):
            declared |= declared_values(*said)
        return Masking(protection.secret, declared)

    @staticmethod
    def _named(request: Any, touched: Collection[String]) -> set[str]:
        """Keys with personal data that the request itself names: giving them back tells nobody anything."""
        keys = {each.text for each in touched if each.role == IDENTIFIER}
        return keys & named_in(request) if keys and isinstance(request, Message) else set()

    async def _audit(self, method: str, namespace: str, masking: Masking, touched: Collection[String]) -> None:
        things = sorted({masking.mask(each.owner, is_identifier=True) for each in touched if each.owner})
        details = {
            "rpc": method,
            "categories": dict(sorted(masking.found.items())),
            "things": things[:_MOST_THINGS],
            "thing_count": len(things),
        }

        async def work(connection: Connection) -> None:
            await audit.append(
                connection,
                namespace,
                action=ACTION,
                actor=current_caller().subject,
                target=things[0] if len(things) == 1 else "",
                details=json.dumps(details, ensure_ascii=False, separators=(",", ":")),
            )

        try:
            # Whatever the server's default is: the answer leaves after this is on disk.
            settings = {"synchronous_commit": "on"}
            await self.audited.transaction(work, timeout_s=_timeout_s(), settings=settings)
        except (PalimpsestError, StatementFailed) as error:
            _log.warning("an answer with personal data was withheld: %s", type(error).__name__)
            raise AuditUnavailable from None


def _is_cleared() -> bool:
    caller: Caller = current_caller()
    return CLEARANCE in caller.clearances


def _timeout_s() -> float:
    left_s = deadline_s_left()
    return _LONGEST_AUDIT_S if left_s is None else left_s


def _only(namespace: str) -> tuple[str, ...]:
    return (namespace,) if namespace else ()


def _key(item_id: str) -> str:
    """The entity's key that the id of a chunk has in it; any other id as it is."""
    return item_id.removeprefix("chunk:").rpartition("#")[0] if item_id.startswith("chunk:") else item_id


def _without(found: Collection[String], kept: Collection[str]) -> list[String]:
    return [each for each in found if each.role != IDENTIFIER or each.text not in kept]


def _strike(each: String) -> None:
    """Puts signs that nothing is found by in the place of values; places in the text stay what they are."""
    text = each.text
    for piece in find(text, each.around):
        text = text[: piece.start] + _STRUCK * (piece.end - piece.start) + text[piece.end :]
    if text != each.text:
        each.replace(text)


async def _apart(found: Collection[String], work: Callable[[], T]) -> T:
    """Does the work in a thread where texts are long, so that other calls go on meanwhile."""
    is_long = sum(len(each.text) for each in found) > _QUICK_CHARACTERS
    return await asyncio.to_thread(work) if is_long else work()


def _sought(masking: Masking, found: Iterable[String]) -> list[String]:
    """Those that hold something."""
    return [each for each in found if masking.seek(each.text, each.around, is_json=each.is_json)]


def _mask(masking: Masking, found: Iterable[String]) -> None:
    for each in found:
        is_identifier = each.role == IDENTIFIER
        text = masking.mask(each.text, each.around, is_json=each.is_json, is_identifier=is_identifier)
        if text != each.text:
            each.replace(text)


def _recount(response: Any) -> None:
    """A pack tells its own length."""
    pack = getattr(response, "pack", None)
    if isinstance(pack, ContextPack):
        pack.characters, pack.tokens = len(pack.rendered), token_count(pack.rendered)


def _conceal(protection: Protection, request: Any, response: Any) -> None:
    """Page tokens hold keys, and hashes of keys tell them. And a key that is masked does not begin as the request asks:
    else its digits could be found out one by one."""
    if getattr(response, "next_page_token", ""):
        response.next_page_token = seal(protection.secret, response.next_page_token)
    for change in getattr(response, "changes", ()):
        change.erased_key_hash = ""  # a key with personal data is soon found by its hash
    prefix = getattr(request, "key_prefix", "")
    if prefix:
        left = [each for each in response.entities if each.natural_key.startswith(prefix)]
        if len(left) < len(response.entities):
            del response.entities[:]
            response.entities.extend(left)


def _unsealed(secret: bytes, token: str) -> str:
    try:
        return unseal(secret, token)
    except ValueError:
        raise InvalidPageToken from None


def _told_by(error: PalimpsestError) -> Iterator[str]:
    yield from error.metadata.values()
    for each in error.violations:
        yield from (each.field, each.description)
    if isinstance(error, AmbiguousMatch):
        yield from error.candidates


def _mask_error(masking: Masking, error: PalimpsestError) -> None:
    error.metadata = {key: masking.mask(value) for key, value in error.metadata.items()}
    error.violations = tuple(
        replace(each, field=masking.mask(each.field), description=masking.mask(each.description))
        for each in error.violations
    )
    error.args = tuple(masking.mask(each) if isinstance(each, str) else each for each in error.args)
    if isinstance(error, AmbiguousMatch):
        error.candidates = tuple(masking.mask(each, is_identifier=True) for each in error.candidates)
