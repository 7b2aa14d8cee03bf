"""Finds out who calls, before a byte of the request is decoded."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from shared.authentication.authenticator import Authenticator
from shared.authentication.caller import acting_as
from shared.interceptors.call import Call


def authenticated(authenticator: Authenticator) -> Callable[[Call], AbstractAsyncContextManager[None]]:
    """The step that sets `current_caller()`; Unauthenticated where the credentials are not valid."""

    @asynccontextmanager
    async def step(call: Call) -> AsyncIterator[None]:
        metadata = call.metadata()
        with acting_as(await authenticator.authenticate(metadata), lambda: authenticator.authenticate(metadata)):
            yield

    return step
