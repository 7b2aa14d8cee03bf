"""The writer's RPCs by which operators decide over items (EN-6) and sources (DO-9)."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import grpc.aio
from palimpsest.v1 import writer_service_pb2 as pb

from services.writer.commands.archive_item import archive_item
from services.writer.commands.confirm_item import confirm_item
from services.writer.commands.delete_item import delete_item
from services.writer.commands.delete_source import delete_source
from services.writer.commands.register_source import register_source
from services.writer.commands.restore_item import restore_item
from services.writer.commands.undelete_item import undelete_item
from services.writer.documents.servicer import STORED_MESSAGES
from services.writer.lifecycle_messages import operator, to_marked, to_moment
from services.writer.source_messages import to_delete_response, to_source, to_state
from shared.authentication.caller import ADMIN, WRITE, current_caller, held_roles
from shared.database import Database
from shared.interceptors.deadline import deadline_s_left
from shared.timestamps import from_datetime

T = TypeVar("T")


class LifecycleRpcs:
    """A part of the writer's servicer."""

    _database: Database

    async def ConfirmItem(
        self, request: pb.ConfirmItemRequest, context: grpc.aio.ServicerContext
    ) -> pb.ConfirmItemResponse:
        """Confirms that an item still holds."""
        confirmed_at = to_moment(request, "confirmed_at")
        last, token = await self._of_item(request, confirm_item, confirmed_at=confirmed_at)
        return pb.ConfirmItemResponse(last_confirmed_at=from_datetime(last), consistency_token=token)

    async def ArchiveItem(
        self, request: pb.ArchiveItemRequest, context: grpc.aio.ServicerContext
    ) -> pb.ArchiveItemResponse:
        """Puts an item away."""
        changed, token = await self._of_item(request, archive_item, reason=request.reason)
        return pb.ArchiveItemResponse(changed=changed, consistency_token=token)

    async def RestoreItem(
        self, request: pb.RestoreItemRequest, context: grpc.aio.ServicerContext
    ) -> pb.RestoreItemResponse:
        """Takes an archiving back."""
        changed, token = await self._of_item(request, restore_item, reason=request.reason)
        return pb.RestoreItemResponse(changed=changed, consistency_token=token)

    async def DeleteItem(
        self, request: pb.DeleteItemRequest, context: grpc.aio.ServicerContext
    ) -> pb.DeleteItemResponse:
        """Hides an item everywhere."""
        deleted, token = await self._of_item(request, delete_item, reason=request.reason)
        return pb.DeleteItemResponse(changed=deleted.changed, chunks=deleted.chunks, consistency_token=token)

    async def UndeleteItem(
        self, request: pb.UndeleteItemRequest, context: grpc.aio.ServicerContext
    ) -> pb.UndeleteItemResponse:
        """Takes a deletion back."""
        changed, token = await self._of_item(request, undelete_item, reason=request.reason)
        return pb.UndeleteItemResponse(changed=changed, consistency_token=token)

    async def _of_item(
        self, request: Any, command: Callable[..., Awaitable[tuple[T, str]]], **options: Any
    ) -> tuple[T, str]:
        """What a command answers about the item that a request names, for the caller as its operator."""
        by = operator(request.namespace)
        return await command(self._database, to_marked(request), by, timeout_s=deadline_s_left(), **options)

    async def RegisterSource(
        self, request: pb.RegisterSourceRequest, context: grpc.aio.ServicerContext
    ) -> pb.RegisterSourceResponse:
        """Registers a source, or changes it."""
        current_caller().require(WRITE, request.namespace)
        source, token = await register_source(
            self._database,
            (request.namespace, request.source.system, request.source.stream),
            authority=request.source.authority,
            state=to_state(request.source),
            description=request.source.description,
            by=current_caller().subject,
            timeout_s=deadline_s_left(),
        )
        return pb.RegisterSourceResponse(source=to_source(source), consistency_token=token)

    async def DeleteSource(
        self, request: pb.DeleteSourceRequest, context: grpc.aio.ServicerContext
    ) -> pb.DeleteSourceResponse:
        """Hides what came from a source, or erases it."""
        current_caller().require(ADMIN if request.purge else WRITE, request.namespace)
        deleted, token = await delete_source(
            self._database,
            STORED_MESSAGES,
            (request.namespace, request.system, request.stream),
            purge=request.purge,
            reason=request.reason,
            by=current_caller().subject,
            roles=held_roles(request.namespace),
            timeout_s=deadline_s_left(),
        )
        return to_delete_response(deleted, token)
