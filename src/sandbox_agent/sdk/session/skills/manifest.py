"""The list of installed skills of a directory, with the sessions that use each: `manifest.json`.

It lies in the sandbox, so that any client that works in the directory sees the skills of the others, and a
later one can remove what a client or server that died has left.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sandbox_agent.sdk import json_codec

VERSION = 1


@dataclass(frozen=True, slots=True)
class Holder:
    """The agent process of a session that uses skills."""

    server_id: str
    created_at_ms: int | None
    pid: int | None

    def to_json(self) -> dict[str, Any]:
        return {"serverId": self.server_id, "createdAtMs": self.created_at_ms, "pid": self.pid}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Holder:
        return cls(str(data.get("serverId")), data.get("createdAtMs"), data.get("pid"))


@dataclass(slots=True)
class InstalledSkill:
    """A skill folder that was installed, the digests of its files, and the sessions that use it."""

    files: dict[str, str]
    sessions: set[str]


@dataclass(slots=True)
class Manifest:
    """The skills and sessions of one directory."""

    sessions: dict[str, Holder] = field(default_factory=dict)
    skills: dict[str, InstalledSkill] = field(default_factory=dict)
    """By path below the directory, such as `.claude/skills/review`."""
    created: list[str] = field(default_factory=list)
    """Directories that did not exist before; removed with the last skill if they are empty."""

    def forget_session(self, session_id: str) -> None:
        """Drop a session from every skill."""
        self.sessions.pop(session_id, None)
        for skill in self.skills.values():
            skill.sessions.discard(session_id)

    @property
    def unused(self) -> list[str]:
        """The skills without a session."""
        return [path for path, skill in self.skills.items() if not skill.sessions]

    def encode(self) -> bytes:
        return json_codec.encode(
            {
                "version": VERSION,
                "sessions": {
                    name: holder.to_json()
                    for name, holder in sorted(self.sessions.items())
                    if any(name in skill.sessions for skill in self.skills.values())
                },
                "skills": {
                    path: {"files": skill.files, "sessions": sorted(skill.sessions)}
                    for path, skill in sorted(self.skills.items())
                },
                "created": self.created,
            }
        )

    @classmethod
    def decode(cls, data: bytes) -> Manifest:
        """Raises `ValueError` or `TypeError` for a file that is no manifest."""
        raw = json_codec.decode(data)
        if not isinstance(raw, dict) or raw.get("version") != VERSION:
            raise ValueError("unknown form")
        skills = {
            str(path): InstalledSkill(dict(entry["files"]), set(entry["sessions"]))
            for path, entry in dict(raw.get("skills") or {}).items()
        }
        sessions = {
            str(name): Holder.from_json(holder) for name, holder in dict(raw.get("sessions") or {}).items()
        }
        return cls(sessions, skills, [str(path) for path in raw.get("created") or []])
