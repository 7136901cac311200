"""`client.sessions`, from code without an event loop."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Unpack

from sandbox_agent.sdk.session.history.restorer import RestorePolicy
from sandbox_agent.sdk.session.session_options import CallbackOptions, SessionOptions
from sandbox_agent.sdk.session.sessions import AsyncSessions, EnvelopeList, EventList
from sandbox_agent.sdk.stores import Order, SessionRecord
from sandbox_agent.sdk.sync.portal import Portal
from sandbox_agent.sdk.sync.session import Session


class Sessions:
    """The sessions of one client."""

    def __init__(self, portal: Portal, sessions: AsyncSessions) -> None:
        self._portal = portal
        self._sessions = sessions

    def create(self, agent: str, **options: Unpack[SessionOptions]) -> Session:
        """Start a conversation with an agent, installing and starting it if need be."""
        return Session(self._portal, self._portal.run(self._sessions.create(agent, **options)))

    def resume(
        self, session_id: str, *, restore: RestorePolicy | None = None, **options: Unpack[CallbackOptions]
    ) -> Session:
        """Go on with a stored session; `session.restored` says how the conversation came back."""
        work = self._sessions.resume(session_id, restore=restore, **options)
        return Session(self._portal, self._portal.run(work))

    def resume_or_create(self, session_id: str, agent: str, **options: Unpack[SessionOptions]) -> Session:
        """Resume the session if it is known, else create it with this id."""
        work = self._sessions.resume_or_create(session_id, agent, **options)
        return Session(self._portal, self._portal.run(work))

    def get(self, session_id: str) -> SessionRecord:
        """What the store knows about a session; raises `SessionNotFoundError`."""
        return self._portal.run(self._sessions.get(session_id))

    def list(self, *, order: Order = "asc", archived: bool | None = None) -> Iterator[SessionRecord]:
        """All stored sessions, page by page behind the scenes."""
        return self._portal.iterate(lambda: self._sessions.list(order=order, archived=archived))

    def events(self, session_id: str, offset: int = 0, limit: int = 100) -> EventList:
        """Stored universal events of a session; needs no agent."""
        return self._portal.run(self._sessions.events(session_id, offset, limit))

    def raw_events(self, session_id: str, offset: int = 0, limit: int = 100) -> EnvelopeList:
        """Stored ACP messages of a session, in both directions."""
        return self._portal.run(self._sessions.raw_events(session_id, offset, limit))

    def terminate(self, session_id: str) -> None:
        """End a session for good; twice is fine."""
        self._portal.run(self._sessions.terminate(session_id))

    destroy = terminate

    def archive(self, session_id: str) -> None:
        """Hide a session from lists that ask for it."""
        self._portal.run(self._sessions.archive(session_id))

    def live(self, session_id: str) -> Session:
        """The session to work with: the open one, else resumed."""
        return Session(self._portal, self._portal.run(self._sessions.live(session_id)))

    def forget(self, session_id: str) -> None:
        """End a session and delete it, with its history, from the store."""
        self._portal.run(self._sessions.forget(session_id))
