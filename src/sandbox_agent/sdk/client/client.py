"""`AsyncSandboxAgent`: the way in.

Connect to a server that runs (`connect`), start one (`start`), or run it inside this process
(`start(asgi())`). Everything else hangs from here: `agents`, `fs`, `config`, `acp` and `sessions`.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from os import PathLike
from types import TracebackType
from typing import Unpack
from urllib.parse import quote

import httpx

from sandbox_agent.sdk import json_codec
from sandbox_agent.sdk.client.client_options import CommonOptions, ConnectOptions, StoreLike
from sandbox_agent.sdk.client.debug_logging import set_up_logging
from sandbox_agent.sdk.client.flat_names import AsyncFlatNames
from sandbox_agent.sdk.errors import (
    APIConnectionError,
    APIStatusError,
    APITimeoutError,
    AuthenticationError,
    SandboxAgentError,
)
from sandbox_agent.sdk.providers.embedded_server import SpawnOptions
from sandbox_agent.sdk.providers.local_provider import LocalProvider
from sandbox_agent.sdk.providers.sandbox_provider import SandboxProvider, ask_provider
from sandbox_agent.sdk.resources.acp import AsyncAcp
from sandbox_agent.sdk.resources.agents import AsyncAgents
from sandbox_agent.sdk.resources.config import AsyncConfig
from sandbox_agent.sdk.resources.files import AsyncFiles
from sandbox_agent.sdk.session.callbacks import OnPermission, OnQuestion
from sandbox_agent.sdk.session.history.restorer import RestorePolicy
from sandbox_agent.sdk.session.instance_pool import InstancePool
from sandbox_agent.sdk.session.pending_requests import Handlers
from sandbox_agent.sdk.session.sessions import AsyncSessions, SessionDefaults
from sandbox_agent.sdk.stores import MemoryStore, SessionStore, SqliteStore
from sandbox_agent.sdk.transport.http_api import CONTROL_TIMEOUT_S, HEALTH_PATH, HttpApi, segment
from sandbox_agent.sdk.transport.retries import backoff, unreachable
from sandbox_agent.sdk.transport.run_once import RunOnce

DEFAULT_URL = "http://127.0.0.1:2468"
HEALTH_WAIT_S = 15.0


class AsyncSandboxAgent(AsyncFlatNames):
    """A client of one server. Use `connect` or `start`, and `async with`.

    All arguments are optional: the URL comes from `SANDBOX_AGENT_URL`, the token from
    `SANDBOX_AGENT_TOKEN`; without a store, sessions live in memory. The constructor asks the server nothing:
    the first request waits for its health, as `connect` does at once, unless `wait_for_health` is False.
    """

    def __init__(
        self,
        base_url: str | None = None,
        token: str | None = None,
        *,
        timeout: float = CONTROL_TIMEOUT_S,
        max_retries: int = 2,
        headers: Mapping[str, str] | None = None,
        http_client: httpx.AsyncClient | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        store: StoreLike | None = None,
        persist: StoreLike | None = None,
        on_permission: OnPermission | None = None,
        on_question: OnQuestion | None = None,
        permission_timeout: float | None = None,
        elicitation: bool | None = None,
        restore: RestorePolicy = "auto",
        replay_max_events: int = 50,
        replay_max_chars: int = 12_000,
        default_directory: str | None = None,
        keep_running: bool = False,
        callbacks_in_threads: bool = False,
        wait_for_health: bool | float = True,
    ) -> None:
        set_up_logging()
        store = store if store is not None else persist
        url = base_url or os.environ.get("SANDBOX_AGENT_URL") or DEFAULT_URL
        secret = token if token is not None else os.environ.get("SANDBOX_AGENT_TOKEN")
        self._api = HttpApi(
            url,
            token=secret or None,
            headers=headers,
            timeout=timeout,
            max_retries=max_retries,
            http_client=http_client,
            transport=transport,
        )
        if wait_for_health is not False:
            self._api.gate = RunOnce(lambda: self._until_healthy(wait_for_health))
        self._keep_running = keep_running
        self._closed = False
        self._provider: SandboxProvider | None = None
        self._sandbox_id: str | None = None
        self._farewell = "destroy"
        self._own_store = store is None or isinstance(store, str | PathLike)
        self.store: SessionStore = _store(store)
        self._pool = InstancePool(
            self._api, self.store, local=False, server_alive=self._alive, default_directory=default_directory
        )
        handlers = Handlers(on_permission, on_question, permission_timeout, callbacks_in_threads)
        self._defaults = SessionDefaults(
            handlers, restore, replay_max_events, replay_max_chars, elicitation, None
        )
        self.agents = AsyncAgents(self._api)
        self.fs = AsyncFiles(self._api)
        self.config = AsyncConfig(self._api)
        self.acp = AsyncAcp(self._api, self._alive)
        self.sessions = AsyncSessions(self._pool, self._defaults)

    # -- ways in ----------------------------------------------------------------------------------------

    @classmethod
    async def connect(
        cls,
        base_url: str | None = None,
        token: str | None = None,
        *,
        wait_for_health: bool | float = True,
        **options: Unpack[ConnectOptions],
    ) -> AsyncSandboxAgent:
        """Connect to a server that runs.

        An address where nobody listens is said at once, a server that listens is given 15 s to be healthy.
        With a number of seconds both get that long; with False nothing is asked.
        """
        client = cls(base_url, token, wait_for_health=wait_for_health, **options)
        try:
            await client._api.ready()
        except BaseException:
            await client.aclose()
            raise
        return client

    @classmethod
    async def start(
        cls,
        sandbox: SandboxProvider | None = None,
        *,
        spawn: SpawnOptions | bool | None = None,
        sandbox_id: str | None = None,
        **options: Unpack[CommonOptions],
    ) -> AsyncSandboxAgent:
        """Start a server and connect to it: on this machine, or where the provider says.

        The sandbox goes away with the client. `sandbox_id` reaches one that was made earlier instead;
        `spawn=False` starts nothing and connects to the server that `SANDBOX_AGENT_URL` names.
        """
        if sandbox is None and spawn is False:
            return await cls.connect(**options)
        wishes = spawn if isinstance(spawn, SpawnOptions) else None
        provider: SandboxProvider = sandbox if sandbox is not None else LocalProvider(wishes)
        raw_id = sandbox_id.partition("/")[2] if sandbox_id else None
        if raw_id is None:
            raw_id = await provider.create()
        else:
            await ask_provider(provider, "reconnect", raw_id)
            await ask_provider(provider, "ensure_server", raw_id)
        if options.get("default_directory") is None:
            options["default_directory"] = getattr(provider, "default_cwd", None)
        try:
            client = cls(
                await ask_provider(provider, "get_url", raw_id),
                await ask_provider(provider, "get_token", raw_id) or "",
                transport=await ask_provider(provider, "get_transport", raw_id),
                wait_for_health=False,
                **options,
            )
            client._belongs_to(provider, raw_id)
            await client.wait_healthy(HEALTH_WAIT_S)
        except BaseException:
            if sandbox_id is None:
                await provider.destroy(raw_id)
            raise
        return client

    # -- facts ------------------------------------------------------------------------------------------

    @property
    def base_url(self) -> str:
        return self._api.base_url

    @property
    def token(self) -> str | None:
        return self._api.token

    @property
    def sandbox_id(self) -> str | None:
        """`provider/id` of the sandbox this client was started with, for `start(sandbox_id=...)`."""
        return self._sandbox_id

    @property
    def provider(self) -> SandboxProvider | None:
        """The provider this client was started with."""
        return self._provider

    @property
    def sandbox(self) -> SandboxProvider | None:
        """The TypeScript SDK's name of `provider`."""
        return self._provider

    @property
    def inspector_url(self) -> str:
        """The server's web page, logged in."""
        return build_inspector_url(self.base_url, self.token)

    async def health(self) -> dict[str, object]:
        """The server's own word on its health."""
        return await self._health(once=False)

    async def _health(self, *, once: bool) -> dict[str, object]:
        answer = await self._api.request("GET", HEALTH_PATH, once=once)
        return dict(json_codec.decode(answer.content))

    async def wait_healthy(self, timeout_s: float, *, must_listen: bool = False) -> None:
        """Wait until the server is healthy; a wrong token is said at once.

        With `must_listen` an address where nobody listens is said at once too.
        """
        last: SandboxAgentError | None = None
        try:
            async with asyncio.timeout(timeout_s):
                for attempt in range(10_000):
                    try:
                        if (await self._health(once=True)).get("status") == "ok":
                            return
                    except (AuthenticationError, ValueError):
                        raise
                    except (APIConnectionError, APIStatusError) as error:
                        if not self._alive() or (must_listen and unreachable(error)):
                            raise
                        last = error
                    await asyncio.sleep(backoff(attempt, first=0.1, limit=2.0))
        except TimeoutError:
            raise APITimeoutError(
                f"the server at {self.base_url} was not healthy within {timeout_s:g} s"
            ) from last

    async def _until_healthy(self, wait: bool | float) -> None:
        at_once = wait is True
        await self.wait_healthy(HEALTH_WAIT_S if at_once else float(wait), must_listen=at_once)

    # -- the end ----------------------------------------------------------------------------------------

    async def __aenter__(self) -> AsyncSandboxAgent:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self, *, keep_running: bool | None = None) -> None:
        """Let go of everything; agent processes of this client end unless they are to be kept running.

        Sessions stay in the store and can be resumed. A server started with `start` stops.
        """
        if self._closed:
            return
        self._closed = True
        keep = self._keep_running if keep_running is None else keep_running
        try:
            await self.sessions.aclose(keep_running=keep)
            await self._pool.close(keep_running=keep)
        finally:
            if self._provider is not None and self._sandbox_id is not None:
                await ask_provider(self._provider, self._farewell, self._sandbox_id.partition("/")[2])
            await self._api.aclose()
            if self._own_store:
                await self.store.close()

    close = aclose
    dispose = aclose

    async def destroy_sandbox(self) -> None:
        """Close the client and take its sandbox away."""
        await self._end_sandbox("destroy")

    async def pause_sandbox(self) -> None:
        """Close the client and pause its sandbox, if the provider can; `start(sandbox_id=...)` wakes it."""
        await self._end_sandbox("pause")

    async def kill_sandbox(self) -> None:
        """Close the client and kill its sandbox without ceremony."""
        await self._end_sandbox("kill")

    async def _end_sandbox(self, way: str) -> None:
        if self._provider is None:
            raise SandboxAgentError("this client was not started with a sandbox of its own")
        self._farewell = way if hasattr(self._provider, way) else "destroy"
        await self.aclose()

    def _belongs_to(self, provider: SandboxProvider, raw_id: str) -> None:
        self._provider = provider
        self._sandbox_id = f"{provider.name}/{raw_id}"
        self._defaults.sandbox_id = self._sandbox_id

    def _alive(self) -> bool:
        if self._provider is None or self._sandbox_id is None:
            return True
        alive = getattr(self._provider, "alive", None)
        return alive is None or bool(alive(self._sandbox_id.partition("/")[2]))


def build_inspector_url(
    base_url: str,
    token: str | None = None,
    headers: Mapping[str, str] | None = None,
    session_id: str | None = None,
) -> str:
    """The address of a server's web page, opened at a session; the page takes the token out of it at once."""
    place = f"sessions/{segment(session_id)}" if session_id else ""
    wanted = {"token": token, "headers": json_codec.encode(dict(headers)).decode() if headers else None}
    query = "&".join(f"{key}={quote(value, safe='')}" for key, value in wanted.items() if value)
    return f"{base_url.rstrip('/')}/ui/{place}{'?' + query if query else ''}"


def _store(store: StoreLike | None) -> SessionStore:
    if store is None:
        return MemoryStore()
    if isinstance(store, str | PathLike):
        return SqliteStore(store)
    return store
