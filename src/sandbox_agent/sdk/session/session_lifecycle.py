"""A session's tie to its agent process: kept alive, brought back when it is gone, and let go at the end."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from sandbox_agent.sdk.errors import SandboxAgentError, SessionEndedError
from sandbox_agent.sdk.session.history.restorer import Restored, Restorer
from sandbox_agent.sdk.session.session_channel import SessionChannel
from sandbox_agent.sdk.session.session_info import SessionSettings
from sandbox_agent.sdk.universal import notes

log = logging.getLogger("sandbox_agent")

# An agent that is asked to stop and close gets this long; its process ends in any case.
GOODBYE_S = 5.0


class SessionLifecycle:
    """Sees to it that an agent stands behind the session, and that nothing is left of it at the end."""

    def __init__(self, channel: SessionChannel, settings: SessionSettings, restored: Restored) -> None:
        self.channel = channel
        self.settings = settings
        self.restored = restored
        self.transcript = restored.transcript
        """What the next prompt has to tell the agent about the past."""
        self._restoring = asyncio.Lock()
        self._tasks: set[asyncio.Task[Any]] = set()

    async def ensure_live(self) -> None:
        """Bring the session back if its agent is gone; raises if it was terminated."""
        if self.channel.record.destroyed_at is not None:
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
        """Work beside the session that ends with it at the latest."""
        task = asyncio.create_task(work, name=f"{name} {self.channel.record.id}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(_observe)
        return task

    def mark_destroyed(self) -> None:
        """The session was ended for good, now."""
        self.channel.change(destroyed_at=int(time.time() * 1000))

    async def say_goodbye(self, stop_turn: Callable[[], Awaitable[None]] | None) -> None:
        """Stop the turn and close the session in the agent, if it can and answers."""
        channel = self.channel
        try:
            async with asyncio.timeout(GOODBYE_S):
                if stop_turn is not None:
                    await stop_turn()
                closes = channel.instance is not None and channel.instance.capability(
                    "sessionCapabilities", "close"
                )
                if closes is not None and closes is not False:
                    await channel.request("session/close", {"sessionId": channel.native_id})
        except (SandboxAgentError, TimeoutError) as error:
            log.debug("session %s was not closed politely: %s", channel.record.id, error)

    def note_end(self) -> None:
        """Write the end of the session into its record, unless it is there."""
        if not self.channel.mapper.ended:
            self.channel.note(notes.session_ended("terminated", "daemon"))

    async def finish(self, *, keep_running: bool) -> None:
        """Let go of the agent, end what works beside the session, and store the rest."""
        await self.channel.requests.close()
        if not keep_running:
            await self.channel.leave()
        while self._tasks:
            tasks = list(self._tasks)
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        await self.channel.flush()


def _observe(task: asyncio.Task[Any]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.debug("%s failed: %s", task.get_name(), error)
