"""`SandboxAgent`: the way in, from code without an event loop."""

from __future__ import annotations

from collections.abc import Coroutine
from types import TracebackType
from typing import Any, Unpack

from sandbox_agent.sdk.client.client import AsyncSandboxAgent
from sandbox_agent.sdk.client.client_options import CommonOptions, ConnectOptions
from sandbox_agent.sdk.providers.embedded_server import SpawnOptions
from sandbox_agent.sdk.providers.sandbox_provider import SandboxProvider
from sandbox_agent.sdk.stores import Page, SessionRecord, SessionStore
from sandbox_agent.sdk.sync.control import Acp, Agents, Config
from sandbox_agent.sdk.sync.files import Files
from sandbox_agent.sdk.sync.flat_names import FlatNames
from sandbox_agent.sdk.sync.portal import Portal
from sandbox_agent.sdk.sync.sessions import Sessions


class SandboxAgent(FlatNames):
    """A client of one server. Use `connect` or `start`, and `with`."""

    def __init__(
        self,
        base_url: str | None = None,
        token: str | None = None,
        *,
        wait_for_health: bool | float = True,
        **options: Unpack[ConnectOptions],
    ) -> None:
        options.setdefault("callbacks_in_threads", True)
        portal = Portal()
        try:
            client = portal.call(
                lambda: AsyncSandboxAgent(base_url, token, wait_for_health=wait_for_health, **options)
            )
        except BaseException:
            portal.close()
            raise
        self._hold(portal, client)

    @classmethod
    def connect(
        cls,
        base_url: str | None = None,
        token: str | None = None,
        *,
        wait_for_health: bool | float = True,
        **options: Unpack[ConnectOptions],
    ) -> SandboxAgent:
        """Connect to a server that runs; see `AsyncSandboxAgent.connect` for what is waited for."""
        options.setdefault("callbacks_in_threads", True)
        return cls._open(
            AsyncSandboxAgent.connect(base_url, token, wait_for_health=wait_for_health, **options)
        )

    @classmethod
    def start(
        cls,
        sandbox: SandboxProvider | None = None,
        *,
        spawn: SpawnOptions | bool | None = None,
        sandbox_id: str | None = None,
        **options: Unpack[CommonOptions],
    ) -> SandboxAgent:
        """Start a server and connect to it: on this machine, or where the provider says."""
        options.setdefault("callbacks_in_threads", True)
        return cls._open(AsyncSandboxAgent.start(sandbox, spawn=spawn, sandbox_id=sandbox_id, **options))

    @classmethod
    def _open(cls, opening: Coroutine[Any, Any, AsyncSandboxAgent]) -> SandboxAgent:
        portal = Portal()
        try:
            client = portal.run(opening)
        except BaseException:
            portal.close()
            raise
        self = cls.__new__(cls)
        self._hold(portal, client)
        return self

    def _hold(self, portal: Portal, client: AsyncSandboxAgent) -> None:
        self._portal = portal
        self._client = client
        self.agents = Agents(portal, client.agents)
        self.fs = Files(portal, client.fs)
        self.config = Config(portal, client.config)
        self.acp = Acp(portal, client.acp)
        self.sessions = Sessions(portal, client.sessions)

    @property
    def base_url(self) -> str:
        return self._client.base_url

    @property
    def token(self) -> str | None:
        return self._client.token

    @property
    def store(self) -> SessionStore:
        """Where the sessions are kept; its methods are asynchronous."""
        return self._client.store

    @property
    def sandbox_id(self) -> str | None:
        """`provider/id` of the sandbox this client was started with."""
        return self._client.sandbox_id

    @property
    def provider(self) -> SandboxProvider | None:
        """The provider this client was started with; its methods are asynchronous."""
        return self._client.provider

    @property
    def sandbox(self) -> SandboxProvider | None:
        """The TypeScript SDK's name of `provider`."""
        return self._client.sandbox

    @property
    def inspector_url(self) -> str:
        """The server's web page, logged in."""
        return self._client.inspector_url

    def health(self) -> dict[str, object]:
        """The server's own word on its health."""
        return self._portal.run(self._client.health())

    def _page_of_sessions(self, cursor: str | None, limit: int) -> Page[SessionRecord]:
        return self._portal.run(self._client.list_sessions(cursor=cursor, limit=limit))

    def wait_healthy(self, timeout_s: float, *, must_listen: bool = False) -> None:
        """Wait until the server is healthy; a wrong token is said at once, as is an address with
        `must_listen` where nobody listens."""
        self._portal.run(self._client.wait_healthy(timeout_s, must_listen=must_listen))

    def __enter__(self) -> SandboxAgent:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self, *, keep_running: bool | None = None) -> None:
        """Let go of everything; agent processes of this client end unless they are to be kept running."""
        if self._portal.closed:
            return
        try:
            self._portal.run(self._client.aclose(keep_running=keep_running))
        finally:
            self._portal.close()

    aclose = close
    dispose = close

    def destroy_sandbox(self) -> None:
        """Close the client and take its sandbox away."""
        self._end(self._client.destroy_sandbox())

    def pause_sandbox(self) -> None:
        """Close the client and pause its sandbox, if the provider can; `start(sandbox_id=...)` wakes it."""
        self._end(self._client.pause_sandbox())

    def kill_sandbox(self) -> None:
        """Close the client and kill its sandbox without ceremony."""
        self._end(self._client.kill_sandbox())

    def _end(self, ending: Coroutine[Any, Any, None]) -> None:
        self._portal.run(ending)
        self._portal.close()
