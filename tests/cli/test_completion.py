"""Shell completion: the scripts, and what they offer."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tests.cli.sandbox_directory import SandboxDirectory


def _offered(sandbox: SandboxDirectory, line: str) -> set[str]:
    words = line.split(" ")
    environment = {
        "_SANDBOX_AGENT_COMPLETE": "bash_complete",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
    }
    lines = sandbox.run(environment=environment).good().out.splitlines()
    return {entry.partition(",")[2] for entry in lines}


@pytest.mark.clause("cli-completion")
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_for_each_shell(sandbox: SandboxDirectory, shell: str) -> None:
    assert "_SANDBOX_AGENT_COMPLETE" in sandbox.run("completion", shell).good().out


@pytest.mark.clause("cli-completion")
def test_bash_accepts_the_script(sandbox: SandboxDirectory) -> None:
    script = sandbox.run("completion", "bash").good().out
    bash = shutil.which("bash")
    assert bash is not None
    done = subprocess.run(
        [bash, "--norc", "-c", script + "\ncomplete -p sandbox-agent"],
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert "_sandbox_agent_completion" in done.stdout, done.stderr


@pytest.mark.clause("cli-completion")
def test_commands_and_options_are_offered(sandbox: SandboxDirectory) -> None:
    assert {"daemon", "doctor"} == _offered(sandbox, "sandbox-agent d")
    assert {"list", "post", "stream", "close"} == _offered(sandbox, "sandbox-agent api acp ")
    assert {"--fs-root", "--fs-timeout-ms", "--fs-watch", "--fs-watch-max-directories"} == _offered(
        sandbox, "sandbox-agent server --fs-"
    )
    assert {"gemini"} == _offered(sandbox, "sandbox-agent run gem")
    assert {"reads", "all", "none"} == _offered(sandbox, "sandbox-agent run --approve ")
