"""The reader's RPC of changes (RE-13)."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

import grpc.aio
from palimpsest.v1 import reader_service_pb2 as pb

from services.reader.queries.watch import watch
from services.reader.request_messages import to_optional_time
from services.reader.view import View
from services.reader.watch.hub import Hub
from services.reader.watch.messages import to_responses, to_wanted
from shared.authentication.caller import current_caller, renewed_caller


class WatchRpcs:
    """A part of the reader's servicer."""

    hub: Hub

    async def Watch(
        self, request: pb.WatchRequest, context: grpc.aio.ServicerContext
    ) -> AsyncGenerator[pb.WatchResponse, None]:
        """Streams changes."""

        async def view_now() -> View:
            return View.of(await renewed_caller(), request.namespace)

        view = View.of(current_caller(), request.namespace)
        streamed = watch(
            self.hub,
            view,
            to_wanted(request),
            cursor=request.cursor,
            since=to_optional_time(request, "since"),
            view_now=view_now,
        )
        async with aclosing(streamed) as messages:
            async for sent in messages:
                for response in to_responses(sent):
                    yield response
