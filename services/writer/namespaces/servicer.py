"""The writer's RPCs about how namespaces behave."""

import grpc.aio
from palimpsest.v1 import writer_service_pb2 as pb

from services.writer.applier import Applier
from services.writer.commands.register_pack import register_pack
from services.writer.commands.update_namespace_settings import update_namespace_settings
from services.writer.namespaces import messages
from shared.authentication.caller import ADMIN, current_caller
from shared.database import Database
from shared.interceptors.deadline import deadline_s_left


class NamespaceRpcs:
    """A part of the writer's servicer."""

    _database: Database
    _applier: Applier

    async def RegisterPack(
        self, request: pb.RegisterPackRequest, context: grpc.aio.ServicerContext
    ) -> pb.RegisterPackResponse:
        """Registers a version of a pack."""
        current_caller().require(ADMIN, request.namespace)
        definition, content_hash = messages.to_definition(request.pack)
        duplicate, token = await register_pack(
            self._database,
            namespace=request.namespace,
            definition=definition,
            content_hash=content_hash,
            by=current_caller().subject,
            timeout_s=deadline_s_left(),
        )
        return pb.RegisterPackResponse(duplicate=duplicate, consistency_token=token)

    async def UpdateNamespaceSettings(
        self, request: pb.UpdateNamespaceSettingsRequest, context: grpc.aio.ServicerContext
    ) -> pb.UpdateNamespaceSettingsResponse:
        """Replaces a namespace's settings."""
        caller = current_caller()
        caller.require(ADMIN, request.namespace)
        settings, token = await update_namespace_settings(
            self._database,
            self._applier.packs,
            namespace=request.namespace,
            settings=messages.to_settings(request.settings),
            expected_version=request.expected_version if request.HasField("expected_version") else None,
            updated_by=caller.subject,
            reason=request.reason,
            timeout_s=deadline_s_left(),
        )
        namespace = messages.to_namespace(request.namespace, settings)
        return pb.UpdateNamespaceSettingsResponse(namespace=namespace, consistency_token=token)
