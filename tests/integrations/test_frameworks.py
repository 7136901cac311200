"""The plug-ins in the real frameworks, each in an environment of its own."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.real_agents.fake_model.script import INPUT_TOKENS, OUTPUT_TOKENS
from tests.real_agents.fake_model.server import FakeModel
from tests.support.machine.container_engines import ROOT

pytestmark = [pytest.mark.node, pytest.mark.network, pytest.mark.timeout(1800)]
CACHE = ROOT / ".cache" / "frameworks"
COMMAND = str(Path(sys.executable).with_name("sandbox-agent"))

INSPECT = """
import sys
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.scorer import includes
from sandbox_agent.integrations.inspect_ai import sandbox_agent

samples = [Sample(input="echo forty-two", target="forty-two"), Sample(input="echo 7", target="7")]
solver = sandbox_agent("mock", command=sys.argv[1], uses_model=False)
task = Task(dataset=samples, solver=solver, scorer=includes(), sandbox="local")
(log,) = eval(task, model="mockllm/model", display="none")
print(log.status, log.results.scores[0].metrics["accuracy"].value)
"""

INSPECT_BRIDGE = """
import sys
import tiktoken

class Encoding:  # the real one is downloaded
    def encode(self, text, **_):
        return list(text.encode())

tiktoken.get_encoding = tiktoken.encoding_for_model = lambda name: Encoding()
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.scorer import includes
from sandbox_agent.integrations.inspect_ai import sandbox_agent

sample = Sample(input="say something", target="Default output")
solver = sandbox_agent("codex", command=sys.argv[1])
task = Task(dataset=[sample], solver=solver, scorer=includes(), sandbox="local")
(log,) = eval(task, model="mockllm/model", display="none")
calls = [event for event in log.samples[0].events if event.event == "model"]
usage = log.stats.model_usage["mockllm/model"]
assert usage.output_tokens == sum(call.output.usage.output_tokens for call in calls) > 0
print(log.status, log.results.scores[0].metrics["accuracy"].value)
"""

VERIFIERS = """
import asyncio, sys
from verifiers.v1.agent import Agent
from verifiers.v1.configs.agent import AgentConfig
from verifiers.v1.configs.client import EvalClientConfig
from verifiers.v1.runtimes import SubprocessConfig
from verifiers.v1.task import Task, TaskData

config = AgentConfig(
    harness={"id": "sandbox-agent-verifiers", "agent": "codex", "command": sys.argv[1]},
    runtime=SubprocessConfig(),
    model="fake",
    client=EvalClientConfig(base_url=sys.argv[2] + "/v1", api_key_var="KEY"),
)
trace = asyncio.run(Agent(config).run(Task(TaskData(prompt="say hello"))))
assert trace.errors == [], trace.errors
assert "say hello" in trace.messages[-1].content
print(len(trace.calls), trace.usage.prompt_tokens, trace.usage.completion_tokens)
"""


HARBOR = """
import asyncio, json, os, shutil, subprocess, sys
from pathlib import Path, PurePosixPath
from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.models.agent.context import AgentContext
from harbor.models.trajectories import Trajectory
from sandbox_agent.integrations.harbor import SandboxAgent

class ThisMachine(BaseEnvironment):
    def __init__(self):
        pass

    @staticmethod
    def type():
        return "this-machine"

    async def exec(self, command, env=None, **_):
        options = {"shell": True, "capture_output": True, "text": True, "env": {**os.environ, **(env or {})}}
        done = await asyncio.to_thread(subprocess.run, command, **options)
        return ExecResult(stdout=done.stdout, stderr=done.stderr, return_code=done.returncode)

    async def upload_file(self, source_path, target_path):
        shutil.copy(source_path, target_path)

    async def download_file(self, source_path, target_path):
        shutil.copy(source_path, target_path)

    async def start(self, force_build): ...
    async def stop(self, delete): ...
    async def upload_dir(self, source_dir, target_dir): ...
    async def download_dir(self, source_dir, target_dir): ...
    def _validate_definition(self): ...

place = PurePosixPath(os.getcwd()) / "in-the-environment"
agent = SandboxAgent(
    logs_dir=Path("logs"), environment_logs_dir=place, agent="codex", base_url=sys.argv[2], key_env="KEY"
)
context = AgentContext()
asyncio.run(agent.run("say hello", ThisMachine(), context))
trajectory = Trajectory.model_validate(json.loads(Path("logs/trajectory.json").read_text()))
assert [step.source for step in trajectory.steps] == ["user", "agent"] and trajectory.steps[-1].message
print(context.metadata["stop_reason"], context.n_input_tokens, context.n_output_tokens)
"""


@pytest.fixture(scope="module")
def environment() -> Callable[..., str]:
    """An environment with this checkout and the named packages, kept for later runs; gives its Python."""

    def make(python: str, *packages: str) -> str:
        known = hashlib.sha256(f"{python} {packages} {(ROOT / 'pyproject.toml').read_text()}".encode())
        place = CACHE / known.hexdigest()[:12]
        program = place / "bin" / "python"
        if not (place / "complete").exists():
            shutil.rmtree(place, ignore_errors=True)
            subprocess.run([python, "-m", "venv", str(place)], check=True)
            # Only what is imported is compiled later: half of the time.
            pip = [str(program), "-m", "pip", "install", "--quiet", "--no-compile"]
            variables = {**os.environ, "SANDBOX_AGENT_SKIP_PAGE": "1"}
            words = [*pip, "--disable-pip-version-check", "--editable", str(ROOT), *packages]
            subprocess.run(words, check=True, capture_output=True, env=variables)
            (place / "complete").touch()
        return str(program)

    return make


@pytest.fixture
def codex(data_home: Path) -> dict[str, str]:
    """Variables for programs that use Codex, which is installed."""
    variables = {"XDG_DATA_HOME": str(data_home), "KEY": "dummy"}
    install = [COMMAND, "install-agent", "codex"]
    subprocess.run(install, check=True, capture_output=True, env={**os.environ, **variables}, timeout=900)
    return variables


@cache
def python_3_12() -> str | None:
    """A Python 3.12 that starts: what is on the path may be a file of pyenv that finds none."""
    versions = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser() / "versions"
    for candidate in ("python3.12", *map(str, sorted(versions.glob("3.12.*/bin/python3.12")))):
        if shutil.which(candidate) and subprocess.run([candidate, "-c", ""], check=False).returncode == 0:
            return candidate
    return None


def run(python: str, program: str, place: Path, *arguments: str, **variables: str) -> str:
    home = {"HOME": str(place), "XDG_DATA_HOME": str(place / "data")}
    done = subprocess.run(
        [python, "-c", program, COMMAND, *arguments],
        cwd=place,
        # verifiers finds uv on the path.
        env={**os.environ, "PATH": f"{Path(python).parent}:{os.environ['PATH']}", **home, **variables},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip().splitlines()[-1]


@pytest.mark.clause("rollouts-plugins")
def test_inspect_scores_samples_and_counts_the_calls_of_its_bridge(
    environment: Callable[..., str], codex: dict[str, str], tmp_path: Path
) -> None:
    python = environment(sys.executable, "inspect-ai==0.3.285", "openai==3.51.0")
    assert run(python, INSPECT, tmp_path) == "success 1.0"
    assert run(python, INSPECT_BRIDGE, tmp_path, **codex) == "success 1.0"


@pytest.mark.clause("rollouts-plugins")
def test_verifiers_counts_the_calls_of_a_real_agent(
    environment: Callable[..., str], codex: dict[str, str], tmp_path: Path
) -> None:
    python = environment(sys.executable, "verifiers==0.4.0", "uv==0.13.8")
    with FakeModel() as model:
        counted = run(python, VERIFIERS, tmp_path, model.base, **codex)
    calls = len(model.prompts)
    assert calls >= 1
    assert [int(word) for word in counted.split()] == [calls, calls * INPUT_TOKENS, calls * OUTPUT_TOKENS]


@pytest.mark.full
@pytest.mark.skipif(python_3_12() is None, reason="Harbor needs Python 3.12")
@pytest.mark.clause("rollouts-plugins")
def test_harbor_gets_trajectory_and_usage_of_a_real_agent(
    environment: Callable[..., str], codex: dict[str, str], tmp_path: Path
) -> None:
    python = environment(python_3_12() or "", "harbor")
    with FakeModel() as model:
        counted = run(python, HARBOR, tmp_path, model.base, **codex)
    calls = len(model.prompts)
    assert calls >= 1
    assert counted == f"end_turn {calls * INPUT_TOKENS} {calls * OUTPUT_TOKENS}", model.prompts
