"""The ACP side that all adapters share; a subclass opens and continues sessions, runs turns and stops them.

What a client may choose is in `ConfigOptions`. Prompts of one session run one after another.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any

from acp import PROTOCOL_VERSION
from acp.interfaces import Client
from acp.schema import (
    AgentCapabilities,
    ClientCapabilities,
    CloseSessionResponse,
    Implementation,
    InitializeResponse,
    ListSessionsResponse,
    LoadSessionResponse,
    McpCapabilities,
    NewSessionResponse,
    PromptCapabilities,
    PromptResponse,
    ResumeSessionResponse,
    SessionCapabilities,
    SessionCloseCapabilities,
    SessionInfo,
    SessionListCapabilities,
    SessionResumeCapabilities,
    SetSessionConfigOptionResponse,
    SetSessionModeResponse,
)

from sandbox_agent.agents.adapters.common import adapter_errors, timeouts, updates
from sandbox_agent.agents.adapters.common.client_channel import ClientChannel
from sandbox_agent.agents.adapters.common.config_options import ConfigOptions
from sandbox_agent.agents.adapters.common.mcp_servers import McpServer, read_mcp_servers
from sandbox_agent.agents.adapters.common.native_turn import NativeTurn
from sandbox_agent.agents.adapters.common.prompt_blocks import Block, PromptPart, read_prompt
from sandbox_agent.agents.adapters.common.updates import Unparsed
from sandbox_agent.version import version


@dataclass
class NativeSession:
    """A session of this connection."""

    id: str
    cwd: str
    config: ConfigOptions
    mcp_servers: list[McpServer] = field(default_factory=list)
    turn: NativeTurn | None = None
    busy: asyncio.Lock = field(default_factory=asyncio.Lock)


class NativeAgent(ABC):
    """The ACP side of an adapter."""

    name: str
    title: str
    accepts_images = True
    takes_changed_input = False
    """Whether a permission may be answered with another input of the tool."""
    lists_sessions = True
    loads_sessions = True

    def __init__(self, program: str) -> None:
        self.program = program
        self.channel = ClientChannel()
        self.sessions: dict[str, NativeSession] = {}
        self._background: set[asyncio.Task[None]] = set()

    # -- implemented by each adapter

    @abstractmethod
    async def open_session(self, cwd: str, mcp_servers: list[McpServer]) -> NativeSession: ...

    @abstractmethod
    async def continue_session(
        self, session_id: str, cwd: str, mcp_servers: list[McpServer], *, replay: bool
    ) -> NativeSession:
        """Open a session of an earlier process; with `replay` its history is sent to the client first."""

    @abstractmethod
    async def run_turn(self, session: NativeSession, turn: NativeTurn, parts: list[PromptPart]) -> None:
        """Start the turn, which ends with `turn.end` or `turn.fail`; an exception here fails it too."""

    @abstractmethod
    async def stop_turn(self, session: NativeSession) -> None:
        """Interrupt the native program; `turn.cancel` has been called."""

    @abstractmethod
    async def stop(self) -> None:
        """Stop all native programs."""

    async def end_turn(self, session: NativeSession) -> None:  # noqa: B027 - optional
        """Clean up after a turn, whatever its outcome."""

    async def known_sessions(self, cwd: str | None) -> list[SessionInfo]:
        """The sessions that `continue_session` can open."""
        return []

    async def session_closed(self, session: NativeSession) -> None:  # noqa: B027 - optional
        """Called after the last turn of a session that the client closed."""

    # -- ACP

    def on_connect(self, conn: Client) -> None:
        self.channel.connect(conn)

    async def initialize(
        self, protocol_version: int, client_capabilities: ClientCapabilities | None = None, **_: Any
    ) -> InitializeResponse:
        self.channel.set_capabilities(client_capabilities)
        return InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_info=Implementation(name=f"{self.name}-native", title=self.title, version=version()),
            agent_capabilities=AgentCapabilities(
                load_session=self.loads_sessions,
                prompt_capabilities=PromptCapabilities(image=self.accepts_images, embedded_context=True),
                mcp_capabilities=McpCapabilities(http=True),
                session_capabilities=SessionCapabilities(
                    list=SessionListCapabilities() if self.lists_sessions else None,
                    resume=SessionResumeCapabilities() if self.loads_sessions else None,
                    close=SessionCloseCapabilities(),
                ),
            ),
            auth_methods=[],
            field_meta=updates.meta(changedInput=True) if self.takes_changed_input else None,
        )

    async def new_session(
        self, cwd: str, mcp_servers: list[Any] | None = None, **_: Any
    ) -> NewSessionResponse:
        session = await self.open_session(cwd, read_mcp_servers(mcp_servers, self.name))
        self.sessions[session.id] = session
        config = session.config
        return NewSessionResponse(
            session_id=session.id, modes=config.modes(), config_options=config.options()
        )

    async def load_session(
        self, cwd: str, session_id: str, mcp_servers: list[Any] | None = None, **_: Any
    ) -> LoadSessionResponse:
        config = (await self._continue(session_id, cwd, mcp_servers, replay=True)).config
        return LoadSessionResponse(modes=config.modes(), config_options=config.options())

    async def resume_session(
        self, session_id: str, cwd: str, mcp_servers: list[Any] | None = None, **_: Any
    ) -> ResumeSessionResponse:
        config = (await self._continue(session_id, cwd, mcp_servers, replay=False)).config
        return ResumeSessionResponse(modes=config.modes(), config_options=config.options())

    async def list_sessions(self, cwd: str | None = None, **_: Any) -> ListSessionsResponse:
        return ListSessionsResponse(sessions=await self.known_sessions(cwd))

    async def close_session(self, session_id: str, **_: Any) -> CloseSessionResponse:
        session = self.session(session_id)
        await self.cancel(session_id)
        async with session.busy:
            self.sessions.pop(session_id, None)
            await self.session_closed(session)
        await self.channel.notify_session_ended(session_id)
        return CloseSessionResponse()

    async def prompt(self, session_id: str, prompt: list[Block], **_: Any) -> PromptResponse:
        session = self.session(session_id)
        parts = read_prompt(prompt)
        async with session.busy:
            turn = session.turn = NativeTurn(self.channel, session_id, self.name, timeouts.turn_s())
            running = asyncio.create_task(self.run_turn(session, turn, parts))
            running.add_done_callback(lambda task: _fail_with(turn, task))
            try:
                return PromptResponse(stop_reason=await turn.finish())
            finally:
                session.turn = None
                running.cancel()
                await self.end_turn(session)

    async def cancel(self, session_id: str, **_: Any) -> None:
        session = self.sessions.get(session_id)
        if session is not None and session.turn is not None and not session.turn.is_cancelled:
            session.turn.cancel()
            await self.stop_turn(session)

    async def set_session_mode(self, mode_id: str, session_id: str, **_: Any) -> SetSessionModeResponse:
        session = self.session(session_id)
        session.config["mode"].select(mode_id)
        await self.channel.send_updates(session_id, [session.config.update()])
        return SetSessionModeResponse()

    async def set_config_option(
        self, config_id: str, session_id: str, value: str | bool, **_: Any
    ) -> SetSessionConfigOptionResponse:
        session = self.session(session_id)
        session.config[config_id].select(str(value))
        if config_id == "mode":
            await self.channel.send_updates(session_id, [updates.mode_update(str(value))])
        return SetSessionConfigOptionResponse(config_options=session.config.options())

    def session(self, session_id: str) -> NativeSession:
        """The session of that id; raises a `RequestError` if this connection does not have it."""
        try:
            return self.sessions[session_id]
        except KeyError:
            raise adapter_errors.unknown_session(session_id) from None

    # -- for the adapters

    def run_in_background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    def fail_open_turns(self, error: Exception) -> None:
        """End all turns when the program that serves all sessions has ended."""
        for session in self.sessions.values():
            if session.turn is not None:
                session.turn.fail(error)

    def invalid_line(self, line: str) -> Unparsed:
        """A line of the program's stdout that is not a message, cut to 4 KiB."""
        return Unparsed("stdout", line[:4096], f"{self.name} wrote a line that the adapter cannot read")

    async def _continue(
        self, session_id: str, cwd: str, mcp_servers: list[Any] | None, *, replay: bool
    ) -> NativeSession:
        servers = read_mcp_servers(mcp_servers, self.name)
        session = await self.continue_session(session_id, cwd, servers, replay=replay)
        self.sessions[session_id] = session
        return session


def _fail_with(turn: NativeTurn, task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        turn.fail(error if isinstance(error, Exception) else RuntimeError(str(error)))
