"""One client at a time: a lock file in the sandbox.

The file is created only if it does not exist. A holder that died leaves it behind: a waiting client that has
seen the same file for `STALE_S` replaces exactly that version, which only one of several can do.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sandbox_agent.sdk.errors import NotFoundError, SandboxAgentError
from sandbox_agent.sdk.resources.files import AsyncFiles
from sandbox_agent.sdk.session.skills.conditional_file import FileVersion, read_version, write_over
from sandbox_agent.sdk.transport.http_api import HttpApi

# Far above the time that the work under the lock takes, which is a few small requests.
STALE_S = 15.0
_WAIT_S = 0.05


@asynccontextmanager
async def locked(api: HttpApi, path: str) -> AsyncIterator[None]:
    """Hold the lock file at `path` for the duration of the block."""
    owner_id = uuid.uuid4().hex.encode()
    await _acquire(api, path, owner_id)
    try:
        yield
    finally:
        # The block may have removed the whole directory, and another client may hold the lock by then.
        try:
            if (await read_version(api, path)).content == owner_id:
                await AsyncFiles(api).delete(path)
        except SandboxAgentError:
            pass  # the server is gone; the file becomes stale


async def _create(api: HttpApi, path: str, owner_id: bytes) -> bool:
    try:
        return await write_over(api, path, FileVersion(), owner_id)
    except NotFoundError:
        return False  # another client has removed the folder at this moment


async def _acquire(api: HttpApi, path: str, owner_id: bytes) -> None:
    seen, since = FileVersion(), time.monotonic()
    while not await _create(api, path, owner_id):
        found = await read_version(api, path)
        if found != seen:
            seen, since = found, time.monotonic()
        elif found.etag is not None and time.monotonic() - since > STALE_S:
            if await write_over(api, path, found, owner_id):
                return
        await asyncio.sleep(_WAIT_S)
