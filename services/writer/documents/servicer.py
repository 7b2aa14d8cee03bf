"""The writer's RPCs about texts and complete passes over folders of them."""

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime

import grpc.aio
from palimpsest.v1 import writer_service_pb2 as pb

from services.writer import document_messages, messages
from services.writer.applier import Applier
from services.writer.commands.begin_vault_run import begin_vault_run
from services.writer.commands.complete_vault_run import complete_vault_run
from services.writer.commands.reconcile_snapshot import reconcile_snapshot
from services.writer.commands.retain_article import retain_article
from services.writer.commands.retain_document import retain_document
from services.writer.erasure.messages import emptied
from services.writer.recording import PreparedObservation
from services.writer.retaining import Prepare
from services.writer.snapshot_messages import SnapshotReader, change_of, to_response
from services.writer.steps.erasure import Messages
from shared.authentication.caller import WRITE, current_caller
from shared.database import Database
from shared.errors import InvalidField, Violation
from shared.interceptors.deadline import deadline_s_left
from shared.validation import require_valid

STORED_MESSAGES = Messages(messages.reprojected, messages.assertion_count, emptied)
"""How what is stored is projected anew."""


class DocumentRpcs:
    """A part of the writer's servicer."""

    _database: Database
    _applier: Applier

    async def RetainArticle(
        self, request: pb.RetainArticleRequest, context: grpc.aio.ServicerContext
    ) -> pb.RetainArticleResponse:
        """Stores a text with its original."""
        prepare, text = _prepare(request), document_messages.to_text(request)
        retained = await retain_article(self._database, self._applier, prepare, text=text, timeout_s=deadline_s_left())
        return document_messages.to_article_response(retained)

    async def RetainDocument(
        self, request: pb.RetainDocumentRequest, context: grpc.aio.ServicerContext
    ) -> pb.RetainDocumentResponse:
        """Stores a text that its caller has cut."""
        prepare, text = _prepare(request), document_messages.to_text(request)
        retained = await retain_document(self._database, self._applier, prepare, text=text, timeout_s=deadline_s_left())
        return document_messages.to_document_response(retained)

    async def BeginVaultRun(
        self, request: pb.BeginVaultRunRequest, context: grpc.aio.ServicerContext
    ) -> pb.BeginVaultRunResponse:
        """Begins a complete pass over a folder."""
        current_caller().require(WRITE, request.namespace)
        vault_run_id = await begin_vault_run(
            self._database, namespace=request.namespace, vault=request.vault, timeout_s=deadline_s_left()
        )
        return pb.BeginVaultRunResponse(vault_run_id=vault_run_id)

    async def CompleteVaultRun(
        self, request: pb.CompleteVaultRunRequest, context: grpc.aio.ServicerContext
    ) -> pb.CompleteVaultRunResponse:
        """Ends a complete pass, and removes what it did not meet."""
        current_caller().require(WRITE, request.namespace)
        swept, token = await complete_vault_run(
            self._database,
            STORED_MESSAGES,
            namespace=request.namespace,
            vault_run_id=request.vault_run_id,
            dry_run=request.dry_run,
            by=current_caller().subject,
            timeout_s=deadline_s_left(),
        )
        return pb.CompleteVaultRunResponse(
            met=swept.met, removed=swept.removed, removed_keys=swept.removed_keys, consistency_token=token
        )

    async def ReconcileSnapshot(
        self, requests: AsyncIterator[pb.ReconcileSnapshotRequest], context: grpc.aio.ServicerContext
    ) -> pb.ReconcileSnapshotResponse:
        """Makes the memory equal to a source's complete state."""
        head, reader = None, None
        async for request in requests:
            if reader is None:
                require_valid(request)
                head = _head(request)
                current_caller().require(WRITE, head.namespace)
                reader = SnapshotReader(head)
            elif request.WhichOneof("part") == "items":
                await asyncio.to_thread(reader.take, request.items.items)
            else:
                raise InvalidField([Violation("items", "must be set in every message but the first")])
        if head is None or reader is None:
            raise InvalidField([Violation("head", "must be set in the first message")])
        subject = current_caller().subject
        reconciled, token = await reconcile_snapshot(
            self._database,
            self._applier,
            reader.snapshot(),
            lambda snapshot, difference, packs: change_of(snapshot, difference, packs, subject),
            timeout_s=deadline_s_left(),
        )
        return to_response(reconciled, token, dry_run=head.dry_run)


def _head(request: pb.ReconcileSnapshotRequest) -> pb.SnapshotHead:
    if request.WhichOneof("part") != "head":
        raise InvalidField([Violation("head", "must be set in the first message")])
    return request.head


def _prepare(request: document_messages.RetainRequest) -> Prepare:
    """Makes the observation of a text; of a field that is wrong it gives the path in the request."""
    caller = current_caller()
    caller.require(WRITE, request.namespace)

    async def prepare(now: datetime) -> PreparedObservation:
        observation = document_messages.retained_observation(request, now)
        try:
            return await messages.prepared(request.namespace, observation, "observation", caller.subject)
        except InvalidField as error:
            raise document_messages.in_request(error) from None

    return prepare
