"""`AsyncSandboxAgent`: a client of one server.

`connect` uses a running server, `start` starts one, `start(asgi())` runs it inside this process. The
namespaces `agents`, `fs`, `config`, `acp` and `sessions` hold everything else.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from os import PathLike, fspath
from typing import Any, Unpack

import httpx

from sandbox_agent.sdk.client.client_arguments import check_client_options, server_url
from sandbox_agent.sdk.client.client_options import CommonOptions, ConnectOptions, StoreLike
from sandbox_agent.sdk.client.client_sandbox import ClientSandbox, SandboxEnd
from sandbox_agent.sdk.client.client_store import close_store, open_store
from sandbox_agent.sdk.client.debug_logging import set_up_logging
from sandbox_agent.sdk.client.health_wait import HEALTH_WAIT_S, get_health, wait_until_healthy
from sandbox_agent.sdk.client.inspector_url import build_inspector_url
from sandbox_agent.sdk.client.provider_choice import choose_provider
from sandbox_agent.sdk.errors import SandboxAgentError
from sandbox_agent.sdk.opening import Opening
from sandbox_agent.sdk.providers.given_agents import GivenAgents
from sandbox_agent.sdk.providers.sandbox_provider import SandboxProvider
from sandbox_agent.sdk.providers.spawn_options import SpawnOptions
from sandbox_agent.sdk.resources.acp import AsyncAcp
from sandbox_agent.sdk.resources.agents import AsyncAgents
from sandbox_agent.sdk.resources.config import AsyncConfig
from sandbox_agent.sdk.resources.files import AsyncFiles
from sandbox_agent.sdk.resources.git import AsyncGit
from sandbox_agent.sdk.resources.install_progress import OnInstallProgress
from sandbox_agent.sdk.resources.processes.processes import AsyncProcesses
from sandbox_agent.sdk.resources.processes.terminals import AsyncTerminals
from sandbox_agent.sdk.resources.system_info import SystemInfo, get_system
from sandbox_agent.sdk.session.history.restorer import RestorePolicy
from sandbox_agent.sdk.session.history.store_writer import STORE_PATIENCE_S
from sandbox_agent.sdk.session.instances.instance_pool import InstancePool
from sandbox_agent.sdk.session.permissions.callbacks import Handlers
from sandbox_agent.sdk.session.permissions.permission_request import OnPermission
from sandbox_agent.sdk.session.permissions.question import OnQuestion
from sandbox_agent.sdk.session.session_factory import SessionDefaults
from sandbox_agent.sdk.session.sessions import AsyncSessions
from sandbox_agent.sdk.stores import SessionStore
from sandbox_agent.sdk.transport.http_api import CONTROL_TIMEOUT_S, NETWORK_PATIENCE_S, HttpApi
from sandbox_agent.sdk.transport.run_once import RunOnce


class AsyncSandboxAgent:
    """A client of one server; use `connect` or `start` to make one, and `async with` to close it.

    All arguments are optional: the URL comes from `SANDBOX_AGENT_URL`, the token from
    `SANDBOX_AGENT_TOKEN`; without a store, sessions live in memory. The constructor sends no request:
    the first request waits until the server is healthy, unless `wait_for_health` is False.
    """

    def __init__(
        self,
        base_url: str | None = None,
        token: str | None = None,
        *,
        timeout: float = CONTROL_TIMEOUT_S,
        max_retries: int = 2,
        network_patience: float = NETWORK_PATIENCE_S,
        headers: Mapping[str, str] | None = None,
        http_client: httpx.AsyncClient | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        store: StoreLike | None = None,
        store_patience: float = STORE_PATIENCE_S,
        on_permission: OnPermission | None = None,
        on_question: OnQuestion | None = None,
        permission_timeout: float | None = None,
        elicitation: bool | None = None,
        acp_version: int = 1,
        restore: RestorePolicy = "auto",
        replay_max_events: int = 50,
        replay_max_chars: int = 12_000,
        default_directory: str | PathLike[str] | None = None,
        keep_running: bool = False,
        callbacks_in_threads: bool = False,
        on_install_progress: OnInstallProgress | None = None,
        wait_for_health: bool | float = True,
    ) -> None:
        set_up_logging()
        url = server_url(base_url)
        secret = token if token is not None else os.environ.get("SANDBOX_AGENT_TOKEN")
        self._api = HttpApi(
            url,
            token=secret or None,
            headers=headers,
            timeout=timeout,
            max_retries=max_retries,
            network_patience=network_patience,
            http_client=http_client,
            transport=transport,
            server_alive=self._alive,
        )
        if wait_for_health is not False:
            self._api.health_check = RunOnce(lambda: self._until_healthy(wait_for_health))
        self._keep_running = keep_running
        self._closed = False
        self._sandbox: ClientSandbox | None = None
        self._own_store = store is None or isinstance(store, str | PathLike)
        self.store: SessionStore = open_store(store)
        """Where the sessions are kept; its methods are asynchronous."""
        self._pool = InstancePool(
            self._api,
            self.store,
            store_patience_s=store_patience,
            server_alive=self._alive,
            default_directory=None if default_directory is None else fspath(default_directory),
            on_install_progress=on_install_progress,
        )
        handlers = Handlers(on_permission, on_question, permission_timeout, callbacks_in_threads)
        forms = elicitation is not False
        self._defaults = SessionDefaults(
            handlers, restore, replay_max_events, replay_max_chars, forms, acp_version
        )
        self.agents = AsyncAgents(self._api)
        self.fs = AsyncFiles(self._api)
        self.git = AsyncGit(self._api)
        self.processes = AsyncProcesses(self._api)
        self.terminals = AsyncTerminals(self._api)
        self.config = AsyncConfig(self._api)
        self.acp = AsyncAcp(self._api, self._alive)
        self.sessions = AsyncSessions(self._pool, self._defaults)

    # -- construction -----------------------------------------------------------------------------------

    @classmethod
    def connect(
        cls,
        base_url: str | None = None,
        token: str | None = None,
        *,
        wait_for_health: bool | float = True,
        **options: Unpack[ConnectOptions],
    ) -> Opening[AsyncSandboxAgent]:
        """Connect to a running server.

        With True, a refused connection fails at once and a server that listens gets 15 s to become healthy.
        A number of seconds is the limit for both. With False nothing is checked.
        """
        check_client_options("connect", options)
        return Opening(cls._connected(base_url, token, wait_for_health, options))

    @classmethod
    def start(
        cls,
        sandbox: SandboxProvider | None = None,
        *,
        spawn: SpawnOptions | Mapping[str, Any] | bool | None = None,
        sandbox_id: str | None = None,
        agents: GivenAgents | None = None,
        **options: Unpack[CommonOptions],
    ) -> Opening[AsyncSandboxAgent]:
        """Start a server and connect to it: on this machine, or in a sandbox of the provider.

        `async with AsyncSandboxAgent.start() as client` closes it at the end of the block.
        The sandbox is destroyed when the client closes. `sandbox_id` uses a sandbox made earlier instead.
        `spawn` has the options of a local server, as in `spawn={"port": 9000}`; `spawn=False` starts nothing
        and connects to the server at `SANDBOX_AGENT_URL`.
        `agents` adds agents to a server on this machine, by id: `{"mine": ["python", "agent.py"]}`.
        """
        check_client_options("start", options)
        provider = choose_provider(sandbox, spawn, agents)
        if provider is None:
            return cls.connect(**options)
        return Opening(cls._started(provider, sandbox_id, options))

    @classmethod
    async def _connected(
        cls,
        base_url: str | None,
        token: str | None,
        wait_for_health: bool | float,
        options: ConnectOptions,
    ) -> AsyncSandboxAgent:
        client = cls(base_url, token, wait_for_health=wait_for_health, **options)
        try:
            await client._api.ready()
        except BaseException:
            await client.aclose()
            raise
        return client

    @classmethod
    async def _started(
        cls, provider: SandboxProvider, sandbox_id: str | None, options: CommonOptions
    ) -> AsyncSandboxAgent:
        sandbox = await ClientSandbox.open(provider, sandbox_id)
        if options.get("default_directory") is None:
            options["default_directory"] = provider.default_cwd
        client: AsyncSandboxAgent | None = None
        try:
            client = cls(
                await provider.get_url(sandbox.key),
                await provider.get_token(sandbox.key) or "",
                transport=await provider.get_transport(sandbox.key),
                wait_for_health=False,
                **options,
            )
            client._use_sandbox(sandbox)
            await client.wait_healthy(HEALTH_WAIT_S)
        except BaseException:
            if client is not None:
                await client._api.aclose()
            await sandbox.give_up()
            raise
        return client

    # -- the server -------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        state = "closed" if self._closed else f"open sessions: {len(self.sessions)}"
        sandbox = f", {self.sandbox_id}" if self._sandbox is not None else ""
        return f"<{type(self).__name__} {self.base_url}{sandbox}, {type(self.store).__name__}, {state}>"

    @property
    def base_url(self) -> str:
        """The server's base URL."""
        return self._api.base_url

    @property
    def token(self) -> str | None:
        """The token this client sends."""
        return self._api.token

    @property
    def sandbox_id(self) -> str | None:
        """`provider/id` of the sandbox this client was started with, for `start(sandbox_id=...)`."""
        return None if self._sandbox is None else self._sandbox.id

    @property
    def provider(self) -> SandboxProvider | None:
        """The provider this client was started with; its methods are asynchronous."""
        return None if self._sandbox is None else self._sandbox.provider

    @property
    def inspector_url(self) -> str:
        """The address of the server's web page, with the token."""
        return build_inspector_url(self.base_url, self.token)

    @property
    def is_closed(self) -> bool:
        """Whether `aclose` was called."""
        return self._closed

    async def health(self) -> dict[str, object]:
        """The answer of `GET /v1/health`."""
        return await get_health(self._api)

    async def system(self) -> SystemInfo:
        """CPU, memory and disk of the sandbox; CPU times are counters, so two answers give a rate."""
        return await get_system(self._api)

    async def wait_healthy(self, timeout_s: float, *, must_listen: bool = False) -> None:
        """Wait until the server is healthy; a wrong token fails at once.

        With `must_listen` a refused connection fails at once too.
        """
        await wait_until_healthy(self._api, timeout_s, must_listen=must_listen, alive=self._alive)

    async def _until_healthy(self, wait: bool | float) -> None:
        must_listen = wait is True
        await self.wait_healthy(HEALTH_WAIT_S if must_listen else float(wait), must_listen=must_listen)

    # -- closing ----------------------------------------------------------------------------------------

    async def __aenter__(self) -> AsyncSandboxAgent:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self, *, keep_running: bool | None = None) -> None:
        """Close all sessions and end this client's agent processes, unless `keep_running`.

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
            try:
                if self._sandbox is not None:
                    await self._sandbox.end()
            finally:
                # Also if this task is cancelled meanwhile: no later call would close the connections.
                await self._api.aclose()
                if self._own_store:
                    await close_store(self.store)

    async def destroy_sandbox(self) -> None:
        """Close the client and delete its sandbox."""
        await self._end_by("destroy")

    async def pause_sandbox(self) -> None:
        """Close the client and pause its sandbox, if the provider can; `start(sandbox_id=...)` resumes it."""
        await self._end_by("pause")

    async def kill_sandbox(self) -> None:
        """Close the client and end its sandbox without a graceful stop."""
        await self._end_by("kill")

    async def _end_by(self, how: SandboxEnd) -> None:
        if self._sandbox is None:
            raise SandboxAgentError("this client was not started with a sandbox of its own")
        self._sandbox.end_by = how
        await self.aclose()

    def _use_sandbox(self, sandbox: ClientSandbox) -> None:
        self._sandbox = sandbox
        self._defaults.sandbox_id = sandbox.id
        self._defaults.same_environment = sandbox.provider.same_environment

    def _alive(self) -> bool:
        return self._sandbox is None or self._sandbox.alive()
