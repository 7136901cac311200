"""`run --model-base-url`: real agents use the address, and the usage file has what the model counted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.real_agents.fake_model.server import FakeModel

# What the fake model reports with every answer.
INPUT_TOKENS, OUTPUT_TOKENS = 10, 5


@pytest.mark.clause("rollouts-run")
@pytest.mark.timeout(400)
@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_agent_uses_the_address_and_its_usage_is_written(agent: str, data_home: Path, tmp_path: Path) -> None:
    variables = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(data_home), "KEY": "dummy", "IS_SANDBOX": ""}
    files = ["--usage", "usage.json", "--atif", "atif.json"]
    with FakeModel() as model:
        address = ["--model-base-url", model.base, "--model-key-env", "KEY"]
        done = subprocess.run(
            [sys.executable, "-m", "sandbox_agent", "run", agent, "say hello", "-q", *files, *address],
            cwd=tmp_path,
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            timeout=380,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip() and model.requests
    usage = json.loads((tmp_path / "usage.json").read_text())["usage"]
    assert usage["inputTokens"] % INPUT_TOKENS == 0 and usage["outputTokens"] % OUTPUT_TOKENS == 0
    assert usage["inputTokens"] // INPUT_TOKENS == usage["outputTokens"] // OUTPUT_TOKENS >= 1
    steps = json.loads((tmp_path / "atif.json").read_text())["steps"]
    assert steps[-1]["message"] == done.stdout.strip()
