"""A transcript and its formats: every file with a conversation is written by `write_transcript`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, get_args

from sandbox_agent.sdk import json_codec
from sandbox_agent.sdk.transcripts.atif import atif_trajectory
from sandbox_agent.sdk.transcripts.chat_messages import chat_messages
from sandbox_agent.sdk.transcripts.conversation_steps import Step
from sandbox_agent.sdk.transcripts.markdown import markdown

TranscriptFormat = Literal["markdown", "chat", "atif"]
TRANSCRIPT_FORMATS: tuple[str, ...] = get_args(TranscriptFormat)


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """A conversation with what is known about it."""

    session_id: str
    agent: str
    steps: list[Step]
    agent_version: str | None = None
    model: str | None = None
    title: str | None = None
    directory: str | None = None
    created_at: int | None = None
    """Milliseconds since the epoch."""
    usage: Mapping[str, int] = field(default_factory=dict)
    """Tokens by the names of ACP: `inputTokens`, ..."""
    cost_usd: float | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Further facts of the caller, for ATIF."""


def check_format(format: str) -> None:
    """Raise `ValueError` for a format that does not exist."""
    if format not in TRANSCRIPT_FORMATS:
        raise ValueError(f"there is no format {format!r}; formats are {', '.join(TRANSCRIPT_FORMATS)}")


def write_transcript(transcript: Transcript, format: TranscriptFormat) -> str:
    """The transcript as text.

    `markdown` is for readers. `chat` is one line of JSON with `messages` for training, so the lines of many
    sessions make a JSONL file. `atif` is one JSON object.
    """
    check_format(format)
    if format == "markdown":
        title = transcript.title or f"Session {transcript.session_id}"
        return markdown(title, _facts(transcript), transcript.steps)
    if format == "chat":
        return json_codec.encode_text({"messages": chat_messages(transcript.steps)}) + "\n"
    trajectory = atif_trajectory(
        transcript.steps,
        session_id=transcript.session_id,
        agent=transcript.agent,
        agent_version=transcript.agent_version or "unknown",
        model=transcript.model,
        usage=transcript.usage,
        cost_usd=transcript.cost_usd,
        extra=transcript.extra,
    )
    return json_codec.encode_text(trajectory) + "\n"


def _facts(transcript: Transcript) -> dict[str, str]:
    moment = transcript.created_at
    created = datetime.fromtimestamp(moment / 1000, UTC) if moment is not None else None
    tokens = transcript.usage.get("totalTokens")
    facts = {
        "session": transcript.session_id,
        "agent": " ".join(filter(None, (transcript.agent, transcript.agent_version))),
        "model": transcript.model,
        "directory": transcript.directory,
        "created": created.isoformat(timespec="seconds") if created is not None else None,
        "tokens": str(tokens) if tokens is not None else None,
        "cost": f"{transcript.cost_usd:g} USD" if transcript.cost_usd is not None else None,
    }
    return {name: value for name, value in facts.items() if value}
