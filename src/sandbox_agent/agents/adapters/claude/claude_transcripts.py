"""The transcripts that Claude stores of its sessions.

Their paths are `projects/<directory>/<session>.jsonl` below CLAUDE_CONFIG_DIR or `~/.claude`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from acp.schema import SessionInfo

_TITLE_LENGTH = 80


def _projects() -> Path:
    return Path(os.environ.get("CLAUDE_CONFIG_DIR") or os.path.expanduser("~/.claude")) / "projects"


def find(session_id: str) -> Path | None:
    if not session_id.replace("-", "").isalnum():
        return None
    return next(iter(sorted(_projects().glob(f"*/{session_id}.jsonl"))), None)


def lines(transcript: Path) -> Iterator[dict[str, Any]]:
    """Every line that is a JSON object; a line that a crash cut off is skipped."""
    with transcript.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                document = json.loads(line)
            except ValueError:
                continue
            if isinstance(document, dict):
                yield document


def sessions(cwd: str | None) -> list[SessionInfo]:
    """The stored sessions, of all directories or of `cwd`, newest first."""
    found = []
    for transcript in _projects().glob("*/*.jsonl"):
        directory, title = _describe(transcript)
        if directory is not None and cwd in (None, directory):
            changed = datetime.fromtimestamp(transcript.stat().st_mtime, UTC).isoformat()
            info = SessionInfo(session_id=transcript.stem, cwd=directory, title=title, updated_at=changed)
            found.append(info)
    return sorted(found, key=lambda info: info.updated_at or "", reverse=True)


def _describe(transcript: Path) -> tuple[str | None, str | None]:
    directory = None
    for line in lines(transcript):
        directory = directory or line.get("cwd")
        message = line.get("message")
        if line.get("type") == "user" and directory and isinstance(message, dict):
            content = message.get("content")
            texts = [content] if isinstance(content, str) else [b.get("text") for b in content or []]
            return directory, next((text[:_TITLE_LENGTH] for text in texts if text), None)
    return directory, None
