"""Sessions of the mock agent: their options, their updates, and the store of all sessions."""

from __future__ import annotations

import time

from sandbox_agent.agents.mock import config_options
from sandbox_agent.agents.mock.jsonrpc_lines import Json, JsonRpcError
from sandbox_agent.agents.mock.transcript_directory import TranscriptDirectory
from sandbox_agent.agents.mock.updates import new_uuid
from sandbox_agent.jsonrpc_error_codes import RESOURCE_NOT_FOUND

CONTEXT_TOKENS = 200_000
TITLE_LENGTH = 60
PAGE_SIZE = 100

# The updates that `session/load` replays; usage, commands and modes are sent anew.
REPLAYED = frozenset(
    (
        "user_message_chunk",
        "agent_message_chunk",
        "agent_thought_chunk",
        "tool_call",
        "tool_call_update",
        "plan",
    )
)


def iso_time(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


class MockSession:
    """One session and the lines that are not yet in its transcript."""

    def __init__(self, session_id: str, cwd: str) -> None:
        self.id = session_id
        self.cwd = cwd
        self.title = ""
        self.values = config_options.default_values()
        self.mcp_servers: list[Json] = []
        self.tools: object = None
        """The tools that the client allows; the mock only reports them."""
        self.updates: list[Json] = []
        self.changed_at = time.time()
        self.used_tokens = 0
        self.unsaved: list[Json] = []

    def facts(self) -> Json:
        return {"cwd": self.cwd, "title": self.title, "values": self.values, "usedTokens": self.used_tokens}

    def save_facts_later(self) -> None:
        """The facts changed: write them to the transcript with the next save."""
        self.changed_at = time.time()
        self.unsaved.append({"session": self.facts()})

    def record(self, update: Json) -> None:
        if update["sessionUpdate"] in REPLAYED:
            self.changed_at = time.time()
            self.updates.append(update)
            self.unsaved.append({"update": update})

    def choose(self, option: str, value: str) -> None:
        self.values = {**self.values, option: value}
        self.save_facts_later()

    def set_default_title(self, prompt: str) -> None:
        """Use the first line of the first prompt as the title."""
        if not self.title and prompt.strip():
            self.title = prompt.strip().splitlines()[0][:TITLE_LENGTH]
            self.save_facts_later()

    def state(self) -> Json:
        """The result of `session/new`, `load`, `resume` and `fork`, without the id."""
        return {
            "modes": config_options.modes(self.values),
            "configOptions": config_options.config_options(self.values),
        }

    def usage_update(self) -> Json:
        cost = {"amount": round(self.used_tokens / 1_000_000, 6), "currency": "USD"}
        return {
            "sessionUpdate": "usage_update",
            "used": self.used_tokens,
            "size": CONTEXT_TOKENS,
            "cost": cost,
        }


class SessionStore:
    """The sessions of this process and those that can be loaded from transcripts."""

    def __init__(self, transcripts: TranscriptDirectory) -> None:
        self._live: dict[str, MockSession] = {}
        self._transcripts = transcripts

    def create(self, cwd: str) -> MockSession:
        session = MockSession(new_uuid(), cwd)
        session.save_facts_later()
        self._live[session.id] = session
        return session

    def live(self, session_id: str) -> MockSession:
        """A session that was created, loaded or resumed here.

        Raises:
            JsonRpcError: there is none with this id.
        """
        try:
            return self._live[session_id]
        except KeyError:
            raise _not_found(session_id) from None

    def open(self, session_id: str) -> MockSession:
        """A live session, or one read from its transcript.

        Raises:
            JsonRpcError: there is neither.
        """
        if session_id in self._live:
            return self._live[session_id]
        stored = self._transcripts.read(session_id)
        if stored is None:
            raise _not_found(session_id)
        facts, updates = stored
        session = MockSession(session_id, facts["cwd"])
        session.title = facts["title"]
        session.values = {**session.values, **facts["values"]}
        session.used_tokens = facts["usedTokens"]
        session.updates = updates
        self._live[session_id] = session
        return session

    def fork(self, original: MockSession, cwd: str) -> MockSession:
        copy = self.create(cwd)
        copy.title, copy.values, copy.used_tokens = original.title, original.values, original.used_tokens
        copy.save_facts_later()
        for update in original.updates:
            copy.record(update)
        return copy

    def close(self, session_id: str) -> None:
        self.save()
        self._live.pop(session_id, None)

    def delete(self, session_id: str) -> None:
        self._live.pop(session_id, None)
        self._transcripts.remove(session_id)

    def page(self, cwd: str | None, start: int) -> tuple[list[Json], int | None]:
        """Sessions from position `start`, newest first, and the start of the next page."""
        self.save()
        rows = {session_id: (changed, facts) for changed, session_id, facts in self._transcripts.listed()}
        for session in self._live.values():
            rows[session.id] = (session.changed_at, session.facts())
        found = sorted(((changed, session_id) for session_id, (changed, _) in rows.items()), reverse=True)
        infos = [
            {
                "sessionId": session_id,
                "cwd": rows[session_id][1]["cwd"],
                "title": rows[session_id][1]["title"] or None,
                "updatedAt": iso_time(changed),
            }
            for changed, session_id in found
            if cwd is None or rows[session_id][1]["cwd"] == cwd
        ]
        end = start + PAGE_SIZE
        return infos[start:end], end if end < len(infos) else None

    def save(self) -> None:
        """Append the unsaved lines to the transcripts."""
        for session in self._live.values():
            if session.unsaved:
                self._transcripts.append(session.id, session.unsaved)
                session.unsaved = []


def _not_found(session_id: str) -> JsonRpcError:
    return JsonRpcError(RESOURCE_NOT_FOUND, "Session not found", {"sessionId": session_id})
