"""The files that `sandbox-agent run` writes for a framework: trajectory and usage, also of a failed turn."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from sandbox_agent.sdk import json_codec
from sandbox_agent.sdk.jsonrpc import Envelope
from sandbox_agent.sdk.transcripts.conversation_steps import read_steps
from sandbox_agent.sdk.transcripts.spending import Spending
from sandbox_agent.sdk.transcripts.transcript import Transcript, write_transcript
from sandbox_agent.sdk.universal import UniversalEvent


@dataclass
class TurnReport:
    agent: str
    model: str | None
    atif: Path | None
    usage: Path | None
    events: list[UniversalEvent] = field(default_factory=list)
    messages: list[Envelope] = field(default_factory=list)

    def write(self, stop_reason: str) -> None:
        if self.atif is None and self.usage is None:
            return
        spending = Spending()
        for message in self.messages:
            spending.take(message)
        if self.usage is not None:
            facts = {
                "agent": self.agent,
                "model": self.model,
                "stop_reason": stop_reason,
                "usage": spending.usage,
                "cost_usd": spending.cost_usd,
            }
            self.usage.write_bytes(json_codec.encode(facts))
        if self.atif is not None:
            transcript = Transcript(
                session_id=self.events[0].session_id if self.events else "none",
                agent=self.agent,
                steps=read_steps(self.events),
                model=self.model,
                usage=spending.usage,
                cost_usd=spending.cost_usd,
                extra={"stop_reason": stop_reason},
            )
            self.atif.write_text(write_transcript(transcript, "atif"), encoding="utf-8")
