"""The shell that sets limits: it passes the variables on and is not influenced by them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from sandbox_agent.bridge.process.limits import ProcessLimits

pytestmark = [pytest.mark.process, pytest.mark.clause("process-limits-variables")]
LIMITS = ProcessLimits(memory_bytes=700 << 20, cpu_s=50)
SHELLS = ["/bin/dash", "/bin/bash"]


def run(shell: str, argv: list[str], env: dict[str, str]) -> str:
    """The output of a limited command, with another shell in place of /bin/sh."""
    limited, limited_env = LIMITS.limited(argv, env, tag=0)
    command = [shell, *limited[1:]]
    done = subprocess.run(command, env=limited_env, capture_output=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == b""
    return str(done.stdout.decode(errors="surrogateescape"))


@pytest.mark.parametrize("shell", SHELLS)
def test_variables_arrive_unchanged(shell: str) -> None:
    values = {
        "PATH": "/usr/bin:/bin",
        "EMPTY": "",
        "IFS": "=a",
        "n": "1",
        "TEXT": "two\nlines, 'quotes\" $HOME `id` \\ é \udcff",
        "SANDBOX_AGENT_HELD_0": "of the client",
        "ENV": "/nowhere",
        "LC_ALL": "no such locale",
        "UID": "4713",
    }
    shown = run(shell, ["/usr/bin/env", "-0"], values).split("\0")
    for name, value in values.items():
        if name != "UID" or shell == "/bin/dash":  # UID is read-only in bash
            assert f"{name}={value}" in shown
    assert not any(entry.startswith("SANDBOX_AGENT_HELD_1") for entry in shown)


@pytest.mark.parametrize("shell", SHELLS)
def test_the_limits_are_set_whatever_the_variables_say(shell: str) -> None:
    functions = {f"BASH_FUNC_{name}%%": "() { :; }" for name in ("ulimit", "command", "exec", "export")}
    others = {"SHELLOPTS": "xtrace", "PS4": "$(ulimit -c 7)", "BASH_ENV": "/dev/stdin", "ulimit": "unlimited"}
    script = "ulimit -v; ulimit -t"
    assert run(shell, [shell, "-c", script], {"PATH": "/bin", **functions, **others}) == "716800\n50\n"


def test_no_library_is_loaded_before_the_limits(tmp_path: Path) -> None:
    """The loader writes the programs whose start it has prepared, which is when libraries first run."""
    debug = {"LD_DEBUG": "files", "LD_DEBUG_OUTPUT": str(tmp_path / "loaded")}
    run("/bin/sh", ["/usr/bin/env", "true"], {"PATH": "/usr/bin:/bin", **debug})
    text = "".join(path.read_text() for path in tmp_path.iterdir())
    started = {line.split()[-1] for line in text.splitlines() if "initialize program:" in line}
    assert started == {"/usr/bin/env", "true"}


def test_without_limits_the_program_is_started_as_it_is() -> None:
    environment = {"A": "1", "BASH_FUNC_x%%": "() { :; }"}
    assert ProcessLimits().limited(["x"], environment, tag=0) == (["x"], environment)
