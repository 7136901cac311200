"""The `sandbox-agent run` command that frameworks start in their sandboxes, and the usage file it writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sandbox_agent.sdk import json_codec

BUNDLE_COMMAND = "/opt/sandbox-agent/bin/sandbox-agent"
KEY_VARIABLE = "SANDBOX_AGENT_RUN_KEY"


@dataclass(frozen=True, slots=True)
class RunFiles:
    """Where the command writes, in the sandbox."""

    trajectory: str
    usage: str


def run_arguments(
    command: str,
    agent: str,
    prompt: str,
    files: RunFiles,
    *,
    model: str | None = None,
    base_url: str | None = None,
) -> list[str]:
    """The arguments of the command; all tools are approved, because the sandbox is the boundary."""
    arguments = [command, "run", agent, "--approve", "all", "--quiet"]
    arguments += ["--atif", files.trajectory, "--usage", files.usage]
    if model:
        arguments += ["--model", model]
    if base_url:
        arguments += ["--model-base-url", base_url, "--model-key-env", KEY_VARIABLE]
    # Behind `--`: a prompt may begin with a hyphen.
    return [*arguments, "--", prompt]


@dataclass(frozen=True, slots=True)
class RunUsage:
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    cost_usd: float | None = None
    stop_reason: str | None = None

    @classmethod
    def from_json(cls, content: bytes | str) -> RunUsage:
        facts: Mapping[str, Any] = json_codec.decode(content)
        usage = facts.get("usage") or {}
        return cls(
            usage.get("inputTokens"),
            usage.get("outputTokens"),
            usage.get("cachedReadTokens"),
            facts.get("cost_usd"),
            facts.get("stop_reason"),
        )
