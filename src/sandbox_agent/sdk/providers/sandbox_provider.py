"""Where a server runs: the one thing that differs between a laptop, a test and a cloud sandbox.

A provider makes a sandbox, says how to reach the server in it, and takes it away again. `local` and
`asgi` are here; others need `name`, `create`, `destroy` and `get_url`, and may have the rest.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class SandboxProvider(Protocol):
    """What `start(sandbox=...)` needs.

    What a provider may have beside it, plain or async where that makes sense:

    - `default_cwd`: where sessions work that name no directory
    - `reconnect(id)`: reach a sandbox made earlier; raises `SandboxDestroyedError` if it is gone
    - `ensure_server(id)`: start the server in it if it does not run
    - `get_token(id)`, `get_transport(id)`: the token, and a transport for servers that are not on the network
    - `alive(id)`: False only if the server is known to be gone
    - `pause(id)`, `kill(id)`: other ways to end it; without them it is destroyed
    """

    name: str

    async def create(self) -> str:
        """Make a sandbox with a server in it; returns its id."""
        ...

    async def destroy(self, sandbox_id: str) -> None:
        """Take the sandbox away."""
        ...

    def get_url(self, sandbox_id: str) -> str | Awaitable[str]:
        """The server's base URL."""
        ...


async def ask_provider(provider: SandboxProvider, method: str, sandbox_id: str, default: Any = None) -> Any:
    """Call a method that a provider may have, plain or async; the default if it has none."""
    function = getattr(provider, method, None)
    if function is None:
        return default
    answer = function(sandbox_id)
    return await answer if inspect.isawaitable(answer) else answer
