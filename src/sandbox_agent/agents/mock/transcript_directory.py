"""Transcripts on disk, so that `session/load` works in a new process: one JSON-lines file per session.

A line is either `{"session": {...}}` (facts about the session; the last such line counts) or
`{"update": {...}}` (one `session/update`). Disk errors are ignored: if the directory cannot be used, sessions
last as long as the process.
"""

from __future__ import annotations

import json
import os

from sandbox_agent.agents.mock.jsonrpc_lines import Json

# The oldest transcripts above this number are removed, so that tests do not fill a home directory.
KEPT_TRANSCRIPTS = 500
MAX_ID_LENGTH = 128
FACTS = frozenset(("cwd", "title", "values", "usedTokens"))


def state_directory() -> str:
    """`$SANDBOX_AGENT_MOCK_STATE`, else `sandbox-agent/mock` in the user's state directory."""
    own = os.environ.get("SANDBOX_AGENT_MOCK_STATE")
    if own:
        return own
    base = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(base, "sandbox-agent", "mock")


class TranscriptDirectory:
    """The transcripts in one directory."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._pruned = False

    def _path(self, session_id: str) -> str | None:
        plain = session_id.replace("-", "").replace("_", "")
        if not (plain.isascii() and plain.isalnum() and len(session_id) <= MAX_ID_LENGTH):
            return None  # It could be a path outside the directory.
        return os.path.join(self._directory, session_id + ".jsonl")

    def append(self, session_id: str, lines: list[Json]) -> None:
        path = self._path(session_id)
        if path is None:
            return
        text = "".join([json.dumps(line, separators=(",", ":")) + "\n" for line in lines])
        try:
            self._prepare()
            with open(path, "a", encoding="ascii") as file:
                file.write(text)
        except OSError:
            return

    def _prepare(self) -> None:
        if self._pruned:
            return
        self._pruned = True
        os.makedirs(self._directory, mode=0o700, exist_ok=True)
        with os.scandir(self._directory) as entries:
            names = [entry.name for entry in entries]
        if len(names) > KEPT_TRANSCRIPTS:
            self._remove_oldest(len(names) - KEPT_TRANSCRIPTS)

    def _remove_oldest(self, count: int) -> None:
        for _, session_id in sorted(self._times())[:count]:
            self.remove(session_id)

    def _times(self) -> list[tuple[float, str]]:
        times = []
        try:
            with os.scandir(self._directory) as entries:
                for entry in entries:
                    if entry.name.endswith(".jsonl"):
                        try:
                            times.append((entry.stat().st_mtime, entry.name[:-6]))
                        except FileNotFoundError:
                            continue  # Another mock agent has just removed it.
        except OSError:
            return []
        return times

    def read(self, session_id: str) -> tuple[Json, list[Json]] | None:
        """The session's facts and its updates; None if there is no such transcript."""
        path = self._path(session_id)
        if path is None:
            return None
        facts: Json | None = None
        updates: list[Json] = []
        try:
            with open(path, "rb") as file:
                for raw in file:
                    try:
                        line = json.loads(raw)
                    except ValueError:
                        continue  # The last line of a process that was killed while it wrote.
                    if not isinstance(line, dict):
                        continue
                    if "session" in line:
                        facts = line["session"]
                    elif "update" in line:
                        updates.append(line["update"])
        except OSError:
            return None
        if not isinstance(facts, dict) or not FACTS <= facts.keys():
            return None
        return facts, updates

    def listed(self) -> list[tuple[float, str, Json]]:
        """(time of the last change, id, facts) of each transcript, newest first."""
        found = []
        for changed, session_id in sorted(self._times(), reverse=True):
            stored = self.read(session_id)
            if stored is not None:
                found.append((changed, session_id, stored[0]))
        return found

    def remove(self, session_id: str) -> None:
        path = self._path(session_id)
        if path is not None:
            try:
                os.unlink(path)
            except OSError:
                return
