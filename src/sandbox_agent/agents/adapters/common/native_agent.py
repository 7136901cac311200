"""What all four adapters share of being an ACP agent; the life cycles differ and live in their own files.

A subclass opens and continues sessions, runs a turn and stops it. Everything a client may choose goes
through `Settings`; prompts of one session run one after another.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

from acp import PROTOCOL_VERSION
from acp.interfaces import Client
from acp.schema import (
    AgentCapabilities,
    ClientCapabilities,
    CloseSessionResponse,
    HttpMcpServer,
    Implementation,
    InitializeResponse,
    ListSessionsResponse,
    LoadSessionResponse,
    McpCapabilities,
    McpServerStdio,
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
    SseMcpServer,
)

from sandbox_agent.agents.adapters.common import adapter_errors, timeouts, updates
from sandbox_agent.agents.adapters.common.client_channel import ClientChannel
from sandbox_agent.agents.adapters.common.config_options import Settings
from sandbox_agent.agents.adapters.common.native_turn import Turn
from sandbox_agent.agents.adapters.common.prompt import Block, Picture, Text, read_prompt

McpServers = list[Any]


@dataclass
class Session:
    """A conversation of this connection."""

    id: str
    cwd: str
    settings: Settings
    mcp_servers: McpServers = field(default_factory=list)
    turn: Turn | None = None
    busy: asyncio.Lock = field(default_factory=asyncio.Lock)


class NativeAgent(ABC):
    """The ACP side of an adapter."""

    name: str
    title: str
    takes_pictures = True
    lists_sessions = True
    loads_sessions = True

    def __init__(self, program: str) -> None:
        self.program = program
        self.desk = ClientChannel()
        self.sessions: dict[str, Session] = {}

    # -- what a life cycle has to bring along

    @abstractmethod
    async def open_session(self, cwd: str, mcp_servers: McpServers) -> Session: ...

    @abstractmethod
    async def continue_session(
        self, session_id: str, cwd: str, mcp_servers: McpServers, *, replay: bool
    ) -> Session:
        """A session of an earlier process; with `replay` its history goes to the client first."""

    @abstractmethod
    async def run_turn(self, session: Session, turn: Turn, parts: list[Text | Picture]) -> None:
        """Start the turn; it ends by `turn.end` or `turn.fail`. What is raised here fails it too."""

    @abstractmethod
    async def stop_turn(self, session: Session) -> None:
        """Make the native program stop; `turn.cancel` has been called."""

    @abstractmethod
    async def stop(self) -> None:
        """End every program."""

    async def end_turn(self, session: Session) -> None:  # noqa: B027 - not every agent has something to do
        """Clean up after a turn, however it ended."""

    async def known_sessions(self, cwd: str | None) -> list[SessionInfo]:
        """Those that `continue_session` can open."""
        return []

    async def session_closed(self, session: Session) -> None:  # noqa: B027 - as above
        """Called after the last turn of a session that the client gave up."""

    # -- ACP

    def on_connect(self, conn: Client) -> None:
        self.desk.connected(conn)

    async def initialize(
        self, protocol_version: int, client_capabilities: ClientCapabilities | None = None, **_: Any
    ) -> InitializeResponse:
        self.desk.introduced(client_capabilities)
        return InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_info=Implementation(
                name=f"{self.name}-native", title=self.title, version=version("sandbox-agent")
            ),
            agent_capabilities=AgentCapabilities(
                load_session=self.loads_sessions,
                prompt_capabilities=PromptCapabilities(image=self.takes_pictures, embedded_context=True),
                mcp_capabilities=McpCapabilities(http=True),
                session_capabilities=SessionCapabilities(
                    list=SessionListCapabilities() if self.lists_sessions else None,
                    resume=SessionResumeCapabilities() if self.loads_sessions else None,
                    close=SessionCloseCapabilities(),
                ),
            ),
            auth_methods=[],
        )

    async def new_session(
        self, cwd: str, mcp_servers: McpServers | None = None, **_: Any
    ) -> NewSessionResponse:
        session = await self.open_session(cwd, mcp_servers or [])
        self.sessions[session.id] = session
        settings = session.settings
        return NewSessionResponse(
            session_id=session.id, modes=settings.modes(), config_options=settings.options()
        )

    async def load_session(
        self, cwd: str, session_id: str, mcp_servers: McpServers | None = None, **_: Any
    ) -> LoadSessionResponse:
        settings = (await self._continue(session_id, cwd, mcp_servers, replay=True)).settings
        return LoadSessionResponse(modes=settings.modes(), config_options=settings.options())

    async def resume_session(
        self, session_id: str, cwd: str, mcp_servers: McpServers | None = None, **_: Any
    ) -> ResumeSessionResponse:
        settings = (await self._continue(session_id, cwd, mcp_servers, replay=False)).settings
        return ResumeSessionResponse(modes=settings.modes(), config_options=settings.options())

    async def list_sessions(self, cwd: str | None = None, **_: Any) -> ListSessionsResponse:
        return ListSessionsResponse(sessions=await self.known_sessions(cwd))

    async def close_session(self, session_id: str, **_: Any) -> CloseSessionResponse:
        session = self.session(session_id)
        await self.cancel(session_id)
        async with session.busy:
            self.sessions.pop(session_id, None)
            await self.session_closed(session)
        await self.desk.ended(session_id)
        return CloseSessionResponse()

    async def prompt(self, session_id: str, prompt: list[Block], **_: Any) -> PromptResponse:
        session = self.session(session_id)
        parts = read_prompt(prompt)
        async with session.busy:
            turn = session.turn = Turn(self.desk, session_id, self.name, timeouts.turn_s())
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
        session.settings["mode"].choose(mode_id)
        await self.desk.send(session_id, [session.settings.update()])
        return SetSessionModeResponse()

    async def set_config_option(
        self, config_id: str, session_id: str, value: str | bool, **_: Any
    ) -> SetSessionConfigOptionResponse:
        session = self.session(session_id)
        session.settings[config_id].choose(str(value))
        if config_id == "mode":
            await self.desk.send(session_id, [updates.mode(str(value))])
        return SetSessionConfigOptionResponse(config_options=session.settings.options())

    def session(self, session_id: str) -> Session:
        """Raises a `RequestError` for a session this connection does not have."""
        try:
            return self.sessions[session_id]
        except KeyError:
            raise adapter_errors.unknown_session(session_id) from None

    async def _continue(
        self, session_id: str, cwd: str, mcp_servers: McpServers | None, *, replay: bool
    ) -> Session:
        session = await self.continue_session(session_id, cwd, mcp_servers or [], replay=replay)
        self.sessions[session_id] = session
        return session


def _fail_with(turn: Turn, task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        turn.fail(error if isinstance(error, Exception) else RuntimeError(str(error)))


def stdio_server(server: Any) -> McpServerStdio | None:
    return server if isinstance(server, McpServerStdio) else None


def remote_server(server: Any) -> HttpMcpServer | SseMcpServer | None:
    return server if isinstance(server, HttpMcpServer | SseMcpServer) else None
