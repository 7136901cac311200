"""`run --model-base-url`: real agents use the address, and the usage file has what the model counted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox_agent import LocalProvider, SpawnOptions
from sandbox_agent.rollouts import Rollout
from sandbox_agent.sdk.model_address import model_environment
from tests.real_agents.fake_model.script import INPUT_TOKENS, OUTPUT_TOKENS
from tests.real_agents.fake_model.server import FakeModel

WITHOUT_USAGE = ("kimi-code", "qwen")
"""They use the address and report no tokens."""


@pytest.mark.clause("rollouts-run")
@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    "agent",
    [
        *("claude", "codex", "goose", "opencode"),
        *(pytest.param(agent, marks=pytest.mark.full) for agent in ("copilot", "gemini", *WITHOUT_USAGE)),
    ],
)
def test_agent_uses_the_address_and_its_usage_is_written(agent: str, data_home: Path, tmp_path: Path) -> None:
    variables = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(data_home), "KEY": "dummy", "IS_SANDBOX": ""}
    options = ["-q", "-m", "fake-model", "--usage", "usage.json", "--atif", "atif.json"]
    with FakeModel() as model:
        address = ["--model-base-url", model.base, "--model-key-env", "KEY"]
        done = subprocess.run(
            [sys.executable, "-m", "sandbox_agent", "run", agent, "say hello", *options, *address],
            cwd=tmp_path,
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            timeout=380,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip()
    usage = json.loads((tmp_path / "usage.json").read_text())["usage"]
    if agent in WITHOUT_USAGE:
        assert usage == {} and model.prompts
    else:
        assert counted(usage) == len(model.prompts), model.prompts
    steps = json.loads((tmp_path / "atif.json").read_text())["steps"]
    assert steps[-1]["message"] == done.stdout.strip()


@pytest.mark.clause("rollouts-rollout")
@pytest.mark.timeout(400)
@pytest.mark.parametrize("agent", ["claude", "codex"])
async def test_row_has_the_tokens_of_every_model_call(agent: str, data_home: Path, tmp_path: Path) -> None:
    """Agents that ask a model for a title of their own do it while the second turn runs, or before."""
    with FakeModel() as model:
        variables = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(data_home), "IS_SANDBOX": ""}
        sandbox = LocalProvider(SpawnOptions(env={**variables, **model_environment(model.base, "dummy")}))
        steps = ["say something about the weather", "[[slow 10 0.3]] [[say done]]"]
        result = await Rollout(agent=agent, sandbox=sandbox, prompt=steps, timeout_s=300).run({"id": "a"})
    assert result.error is None, result.error
    assert (result.input_tokens, result.output_tokens) == (2 * INPUT_TOKENS, 2 * OUTPUT_TOKENS)
    assert len(model.prompts) == 2, model.prompts


def counted(usage: dict[str, int]) -> int:
    """How many answers of the model the usage is."""
    calls = usage["inputTokens"] // INPUT_TOKENS
    assert (usage["inputTokens"], usage["outputTokens"]) == (calls * INPUT_TOKENS, calls * OUTPUT_TOKENS)
    return calls
