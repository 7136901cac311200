"""Inspect AI: an agent for tasks and solvers, `sandbox_agent("codex")`.

It starts `sandbox-agent run` in Inspect's sandbox. The agent's model calls go to Inspect's bridge, so the
model is Inspect's, and usage and messages are in Inspect's log. The sandbox has `sandbox-agent`, or the
archive of `scripts/build` unpacked in /opt.
"""

from __future__ import annotations

import json
from typing import Any

from inspect_ai.agent import Agent, AgentState, agent, sandbox_agent_bridge
from inspect_ai.model import ChatMessageAssistant, ChatMessageUser, ModelOutput
from inspect_ai.util import sandbox

from sandbox_agent.integrations.sandbox_run import KEY_VARIABLE, RunFiles, run_arguments

# The bridge answers calls for this model with the model of the task.
_BRIDGED_MODEL = "inspect"
_MAX_ERROR_CHARS = 4000


@agent
def sandbox_agent(
    agent: str,
    *,
    command: str = "sandbox-agent",
    uses_model: bool = True,
    directory: str | None = None,
    port: int = 13131,
    timeout_s: int | None = None,
) -> Agent:
    """`agent` is an id of sandbox-agent; `uses_model=False` is for agents without a model of their own."""

    async def execute(state: AgentState) -> AgentState:
        prompt = next(
            message.text for message in reversed(state.messages) if isinstance(message, ChatMessageUser)
        )
        if not uses_model:
            return await _run(state, prompt, None)
        async with sandbox_agent_bridge(state, port=port) as bridge:
            done = await _run(state, prompt, f"http://127.0.0.1:{bridge.port}")
            bridged: AgentState = bridge.state
            return bridged if bridged.output.choices else done

    async def _run(state: AgentState, prompt: str, base_url: str | None) -> AgentState:
        place = (await sandbox().exec(["mktemp", "-d"])).stdout.strip()
        files = RunFiles(f"{place}/trajectory.json", f"{place}/usage.json")
        model = _BRIDGED_MODEL if base_url else None
        arguments = run_arguments(command, agent, prompt, files, model=model, base_url=base_url)
        done = await sandbox().exec(arguments, cwd=directory, env={KEY_VARIABLE: "bridge"}, timeout=timeout_s)
        if done.returncode == 1:
            raise RuntimeError(f"{agent} failed: {(done.stderr or done.stdout)[-_MAX_ERROR_CHARS:]}")
        text = _last_text(json.loads(await sandbox().read_file(files.trajectory)))
        state.messages.append(ChatMessageAssistant(content=text, source="generate"))
        state.output = ModelOutput.from_content(model=f"sandbox-agent/{agent}", content=text)
        return state

    return execute


def _last_text(trajectory: dict[str, Any]) -> str:
    said = [step["message"] for step in trajectory["steps"] if step["source"] == "agent" and step["message"]]
    return said[-1] if said else ""
