"""ATIF, the Agent Trajectory Interchange Format of Harbor (v1.8): a session as one JSON object.

A step of source `agent` is a message with the thoughts before it, or tool calls with their results. Figures
of usage are those that the agent reported; ACP has them per turn, so they are in `final_metrics`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sandbox_agent.sdk import json_codec
from sandbox_agent.sdk.transcripts.conversation_steps import Step, ToolStep

SCHEMA_VERSION = "ATIF-v1.8"


def atif_trajectory(
    steps: Iterable[Step],
    *,
    session_id: str,
    agent: str,
    agent_version: str = "unknown",
    model: str | None = None,
    usage: Mapping[str, Any] | None = None,
    cost_usd: float | None = None,
    extra: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The trajectory of these steps; `usage` has the names of ACP (`inputTokens`, ...)."""
    written = _Steps(model)
    for step in steps:
        written.take(step)
    trajectory: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "session_id": session_id,
        "agent": _present({"name": agent, "version": agent_version, "model_name": model}),
        "steps": written.finish(),
        "final_metrics": _metrics(usage or {}, cost_usd, len(written.steps)),
    }
    return trajectory | ({"extra": dict(extra)} if extra else {})


class _Steps:
    """Builds the steps; thoughts belong to the agent's next one."""

    def __init__(self, model: str | None) -> None:
        self.steps: list[dict[str, Any]] = []
        self._model = model
        self._thoughts: list[str] = []

    def take(self, step: Step) -> None:
        if isinstance(step, ToolStep):
            self._tool(step)
        elif step.source == "agent":
            self._thoughts += [step.thoughts] if step.thoughts else []
            if step.text:
                self._add("agent", step.text, step.time)
        else:
            self._add(step.source, step.text, step.time)

    def finish(self) -> list[dict[str, Any]]:
        if self._thoughts:
            self._add("agent", "", self.steps[-1].get("timestamp", "") if self.steps else "")
        return self.steps

    def _tool(self, tool: ToolStep) -> None:
        call = tool.call
        step = self._add("agent", "", tool.time)
        step["tool_calls"] = [
            {
                "tool_call_id": call.call_id,
                "function_name": call.name,
                "arguments": _arguments(call.arguments),
            }
        ]
        if tool.ended is not None:
            step["observation"] = {"results": [{"source_call_id": call.call_id, "content": tool.result}]}

    def _add(self, source: str, message: str, time: str) -> dict[str, Any]:
        step = _present({"step_id": len(self.steps) + 1, "timestamp": time or None, "source": source})
        step["message"] = message
        if source == "agent":
            if self._model is not None:
                step["model_name"] = self._model
            if self._thoughts:
                step["reasoning_content"] = "".join(self._thoughts)
                self._thoughts = []
        self.steps.append(step)
        return step


def _arguments(text: str) -> dict[str, Any]:
    """The arguments as an object, which the format wants; other JSON and text become one of its values."""
    try:
        value = json_codec.decode(text)
    except ValueError:
        value = text
    return value if isinstance(value, dict) else {"input": value}


def _metrics(usage: Mapping[str, Any], cost_usd: float | None, steps: int) -> dict[str, Any]:
    return _present(
        {
            "total_prompt_tokens": usage.get("inputTokens"),
            "total_completion_tokens": usage.get("outputTokens"),
            "total_cached_tokens": usage.get("cachedReadTokens"),
            "total_cost_usd": cost_usd,
            "total_steps": steps,
        }
    )


def _present(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
