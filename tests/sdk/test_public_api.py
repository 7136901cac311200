"""The public API: its names, a light import, examples that run, strict types."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import sandbox_agent
from sandbox_agent.sdk import api

ROOT = Path(__file__).parents[2]
SAID = {
    "quickstart.py": ["hello", "end_turn after"],
    "permissions.py": ["selected reject-once", "selected allow-once", "selected allow-always"],
    "questions.py": ["You answered: option-a", "You answered: Ada", '"count": 3', "exit-plan-normal"],
    "resume.py": ["restored by: resumed", "still here with mock-fast", "remember the milk"],
    "batch_eval.py": [
        "greet: passed (end_turn",
        "break: failed (AgentExitedError",
        "slow: passed (APITimeout",
    ],
}
EXAMPLES = [ROOT / "examples" / name for name in SAID]
HEAVY = ("httpx", "acp", "pydantic", "msgspec", "asyncio", "sandbox_agent.sdk")


@pytest.mark.clause("sdk-light-import")
def test_importing_the_package_alone_is_light() -> None:
    check = f"import sys, sandbox_agent; print([m for m in {HEAVY!r} if m in sys.modules])"
    run = subprocess.run(
        [sys.executable, "-c", check], capture_output=True, text=True, timeout=30, check=True
    )
    assert run.stdout.strip() == "[]"


@pytest.mark.clause("sdk-light-import")
def test_the_sdk_does_not_load_acp_types_or_the_server() -> None:
    check = (
        "import sys; from sandbox_agent import SandboxAgent;"
        "print([m for m in sys.modules if m.split('.')[0] in ('acp', 'pydantic')"
        " or m.startswith(('sandbox_agent.http', 'sandbox_agent.bridge', 'sandbox_agent.agents'))])"
    )
    run = subprocess.run(
        [sys.executable, "-c", check], capture_output=True, text=True, timeout=30, check=True
    )
    assert run.stdout.strip() == "[]"


def test_every_public_name_can_be_had_from_the_package() -> None:
    assert len(api.__all__) == len(set(api.__all__))
    for name in api.__all__:
        assert getattr(sandbox_agent, name) is getattr(api, name)
    with pytest.raises(AttributeError, match="NoSuchThing"):
        sandbox_agent.NoSuchThing  # noqa: B018 - the attribute is the test


def test_dir_shows_the_public_names() -> None:
    shown = {name for name in dir(sandbox_agent) if not name.startswith("__")}
    assert shown == set(api.__all__)
    functions = {name for name in api.__all__ if not name[:1].isupper()}
    assert functions == sandbox_agent._FUNCTIONS, "the names that load the SDK, and no submodule"


@pytest.mark.clause("sdk-examples-and-types")
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_examples_run(example: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "data")}
    for name in ("SANDBOX_AGENT_URL", "SANDBOX_AGENT_TOKEN"):
        environment.pop(name, None)
    run = subprocess.run(
        [sys.executable, str(example)],
        capture_output=True,
        text=True,
        timeout=60,
        env=environment,
        cwd=tmp_path,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    for words in SAID[example.name]:
        assert words in run.stdout, run.stdout


@pytest.mark.clause("sdk-examples-and-types")
@pytest.mark.timeout(300)
def test_the_public_api_holds_under_strict_type_checking(tmp_path: Path) -> None:
    files = [*(str(path) for path in EXAMPLES), "tests/sdk/test_programs.py"]
    # The support modules of the tests are not part of what is checked.
    options = ["--strict", "--follow-imports", "silent", "--cache-dir", str(tmp_path / "mypy")]
    mypy = [sys.executable, "-m", "mypy", *options, *files]
    run = subprocess.run(mypy, capture_output=True, text=True, timeout=280, cwd=ROOT, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
