"""The lifecycle of a session: restored when its agent process is gone, released at the end."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from sandbox_agent.sdk.errors import SandboxAgentError, SessionEndedError, UnsupportedSessionOptionError
from sandbox_agent.sdk.session.channel.session_channel import SessionChannel
from sandbox_agent.sdk.session.history.restorer import Restored, Restorer
from sandbox_agent.sdk.session.session_info import SessionSettings
from sandbox_agent.sdk.universal import notes

log = logging.getLogger("sandbox_agent")

# Limit for cancelling the turn and `session/close`; the process is ended in any case.
CLOSE_IN_AGENT_S = 5.0


class SessionLifecycle:
    """Keeps a session connected to an agent process, and cleans up at the end."""

    def __init__(self, channel: SessionChannel, settings: SessionSettings, restored: Restored) -> None:
        self.channel = channel
        self.settings = settings
        self.restored = restored
        self.transcript = restored.transcript
        """The history as text, sent with the next prompt after a replay."""
        self.closed = False
        """The session was closed on this client; `sessions.resume` makes another object."""
        self._restoring = asyncio.Lock()
        self._tasks: set[asyncio.Task[Any]] = set()

    async def ensure_live(self) -> None:
        """Restore the session if its agent is gone; raises `SessionEndedError` if it was closed."""
        if self.closed or self.channel.record.destroyed_at is not None:
            raise SessionEndedError(self.channel.record.id)
        if self.channel.live:
            return
        async with self._restoring:
            if not self.channel.live:
                restorer = Restorer(
                    self.channel,
                    self.settings.key,
                    replay_max_events=self.settings.replay_max_events,
                    replay_max_chars=self.settings.replay_max_chars,
                )
                self.restored = await restorer.restore(self.settings.restore)
                self.transcript = self.restored.transcript

    def spawn(self, work: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]:
        """Start a background task that is cancelled when the session ends."""
        task = asyncio.create_task(work, name=f"{name} {self.channel.record.id}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(_observe)
        return task

    def mark_destroyed(self) -> None:
        """Record that the session was terminated now."""
        self.channel.change(destroyed_at=int(time.time() * 1000))

    async def close_in_agent(self, stop_turn: Callable[[], Awaitable[None]] | None) -> None:
        """Cancel the turn and send `session/close`, if the agent supports it."""
        channel = self.channel
        try:
            async with asyncio.timeout(CLOSE_IN_AGENT_S):
                if stop_turn is not None:
                    await stop_turn()
                if channel.instance is not None and channel.instance.offers("sessionCapabilities", "close"):
                    await channel.outgoing.request("session/close", {"sessionId": channel.native_id})
        except (SandboxAgentError, TimeoutError) as error:
            log.debug("session %s was not closed in the agent: %s", channel.record.id, error)

    async def delete_in_agent(self, stop_turn: Callable[[], Awaitable[None]] | None) -> None:
        """Delete what a live agent has stored of the session; raises if it cannot or refuses."""
        channel = self.channel
        if channel.instance is None or not channel.instance.offers("sessionCapabilities", "delete"):
            raise UnsupportedSessionOptionError(
                "delete", channel.record.agent, "it does not offer session/delete"
            )
        if stop_turn is not None:
            await stop_turn()
        await channel.outgoing.request("session/delete", {"sessionId": channel.native_id})

    async def log_out(self) -> None:
        """Log a live agent out of its account; raises if it cannot or refuses."""
        channel = self.channel
        method = channel.instance.logout_method if channel.instance is not None else None
        if method is None:
            raise UnsupportedSessionOptionError("logout", channel.record.agent, "it does not offer logout")
        await channel.outgoing.request(method, {})

    def record_end(self) -> None:
        """Add the end of the session to its history, unless it is there."""
        if not self.channel.mapper.ended:
            self.channel.note(notes.session_ended("terminated", "daemon"))

    async def finish(self, *, keep_running: bool) -> None:
        """Release the agent, cancel background tasks and flush the store."""
        self.closed = True
        await self.channel.requests.close()
        await self.channel.hooks.close()
        await self.channel.tools.close()
        if not keep_running:
            await self.channel.binding.leave()
            await self.channel.skills.release()
        while self._tasks:
            tasks = list(self._tasks)
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        try:
            await self.channel.flush()
        finally:
            await self.channel.writer.stop()
            self.channel.recorder.end()


def _observe(task: asyncio.Task[Any]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.debug("%s failed: %s", task.get_name(), error)
