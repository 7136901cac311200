"""The history of a session as text, for an agent that cannot restore it.

The newest messages matter most, so the text is built from the last message backwards up to the limit, and a
line says when older messages were left out.
"""

from __future__ import annotations

from collections.abc import Sequence

from sandbox_agent.sdk.universal import UniversalItem
from sandbox_agent.sdk.universal.items import FileRefPart, TextPart, ToolCallPart, ToolResultPart
from sandbox_agent.sdk.universal.meta import REPLAY_PREAMBLE

PREAMBLE = f"{REPLAY_PREAMBLE}, oldest first. It is context only; do not answer it again."
TRUNCATED = "[older history left out]"
SUMMARY_CHARS = 300


def render_transcript(
    items: Sequence[UniversalItem], *, max_events: int, max_chars: int, whole: bool = True
) -> str | None:
    """The conversation of these items as text, or None if there is none; `whole`: no older ones exist."""
    lines = [line for item in items if (line := _line(item))]
    if not lines:
        return None
    kept: list[str] = []
    size = len(PREAMBLE) + len(TRUNCATED) + 2
    for line in reversed(lines[-max_events:] if max_events > 0 else []):
        if size + len(line) + 1 > max_chars:
            break
        size += len(line) + 1
        kept.append(line)
    if not kept:
        # The last message alone exceeds the budget: keep its end.
        kept = [lines[-1][-max(0, max_chars - size) :]] if max_chars > size else []
    kept.reverse()
    left_out = [TRUNCATED] if len(kept) < len(lines) or not whole else []
    return "\n".join([PREAMBLE, *left_out, *kept])


def _line(item: UniversalItem) -> str | None:
    text = "".join(part.text for part in item.content if isinstance(part, TextPart)).strip()
    if item.kind == "message" and item.role in ("user", "assistant"):
        files = [part.path for part in item.content if isinstance(part, FileRefPart)]
        said = " ".join([text, *(f"[file {path}]" for path in files)]).strip()
        return f"{item.role}: {said}" if said else None
    if item.kind == "tool_call":
        calls = [part for part in item.content if isinstance(part, ToolCallPart)]
        return f"tool: {calls[0].name} {_short(calls[0].arguments)}" if calls else None
    if item.kind == "tool_result":
        outputs = [part.output for part in item.content if isinstance(part, ToolResultPart) and part.output]
        return f"tool result: {_short(outputs[0])}" if outputs else None
    return None


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= SUMMARY_CHARS else flat[:SUMMARY_CHARS] + "..."
