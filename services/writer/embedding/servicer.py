"""The writer's RPCs about vectors: what waits for them, and which model they are of (EM-3, EM-5)."""

import grpc.aio
from palimpsest.v1 import writer_service_pb2 as pb

from services.writer.commands.drop_embedding import drop_embedding
from services.writer.commands.get_embedding_status import get_embedding_status
from services.writer.commands.rollback_embedding import rollback_embedding
from services.writer.commands.start_reembedding import start_reembedding
from services.writer.commands.switch_embedding import switch_embedding
from services.writer.commands.wait_for_embedding import wait_for_embedding
from services.writer.embedding import messages
from services.writer.embedding_batch import Embedder
from services.writer.settings import WriterSettings
from shared.authentication.caller import ADMIN, WRITE, current_caller
from shared.database import Database
from shared.interceptors.deadline import deadline_s_left


class EmbeddingRpcs:
    """A part of the writer's servicer. Spaces, and what waits for them, are those of all namespaces together."""

    _database: Database
    _embedder: Embedder
    _settings: WriterSettings

    async def WaitForEmbedding(
        self, request: pb.WaitForEmbeddingRequest, context: grpc.aio.ServicerContext
    ) -> pb.WaitForEmbeddingResponse:
        """Waits for the vectors of what was written before."""
        current_caller().require(WRITE, request.namespace)
        left_s = deadline_s_left()
        poisoned = await wait_for_embedding(
            self._database,
            namespace=request.namespace,
            entity_keys=request.entity_keys,
            timeout_s=self._settings.longest_wait_s if left_s is None else left_s,
        )
        return pb.WaitForEmbeddingResponse(poisoned=poisoned)

    async def GetEmbeddingStatus(
        self, request: pb.GetEmbeddingStatusRequest, context: grpc.aio.ServicerContext
    ) -> pb.GetEmbeddingStatusResponse:
        """Says which spaces there are and what waits."""
        current_caller().require_everywhere(ADMIN)
        status = await get_embedding_status(self._database, self._embedder, timeout_s=deadline_s_left())
        return messages.to_embedding_status(status)

    async def StartReembedding(
        self, request: pb.StartReembeddingRequest, context: grpc.aio.ServicerContext
    ) -> pb.StartReembeddingResponse:
        """Begins to build vectors of another model."""
        current_caller().require_everywhere(ADMIN)
        space = await start_reembedding(
            self._database, self._embedder, fingerprint=request.fingerprint, timeout_s=deadline_s_left()
        )
        return pb.StartReembeddingResponse(space=messages.to_embedding_space(space))

    async def SwitchEmbedding(
        self, request: pb.SwitchEmbeddingRequest, context: grpc.aio.ServicerContext
    ) -> pb.SwitchEmbeddingResponse:
        """Lets another space be searched."""
        current_caller().require_everywhere(ADMIN)
        space = await switch_embedding(
            self._database, fingerprint=request.fingerprint, force=request.force, timeout_s=deadline_s_left()
        )
        return pb.SwitchEmbeddingResponse(space=messages.to_embedding_space(space))

    async def RollbackEmbedding(
        self, request: pb.RollbackEmbeddingRequest, context: grpc.aio.ServicerContext
    ) -> pb.RollbackEmbeddingResponse:
        """Lets the space be searched that was before."""
        current_caller().require_everywhere(ADMIN)
        space = await rollback_embedding(self._database, timeout_s=deadline_s_left())
        return pb.RollbackEmbeddingResponse(space=messages.to_embedding_space(space))

    async def DropEmbedding(
        self, request: pb.DropEmbeddingRequest, context: grpc.aio.ServicerContext
    ) -> pb.DropEmbeddingResponse:
        """Drops a space that is not searched."""
        current_caller().require_everywhere(ADMIN)
        dropped = await drop_embedding(self._database, fingerprint=request.fingerprint, timeout_s=deadline_s_left())
        return pb.DropEmbeddingResponse(dropped=dropped)
