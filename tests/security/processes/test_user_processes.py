"""Processes of users: another user, limits, and tricks to outlive a kill."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import pytest

from tests.security.processes.sleepers import (
    DETACHED,
    HIDDEN,
    WITH_DOCKER_CAPABILITIES,
    WITHOUT_GROUPS,
    Sleepers,
    is_gone,
)
from tests.support.clients.process_api import Processes
from tests.support.processes import wait_until
from tests.support.server_process import ServerProcess, open_for_all_users

pytestmark = [pytest.mark.process, pytest.mark.root]
USER = "nobody"
# Leaves its parent and session, drops its environment, closes all descriptors and ignores signals.
HIDING = (
    "use POSIX; $SIG{$_}='IGNORE' for qw(HUP INT TERM QUIT); exit if fork; POSIX::setsid(); exit if fork; "
    "POSIX::close($_) for 0..255; %ENV=(); exec '/bin/sleep', '609.25';"
)

# Starts a process as a child of its own parent, the server: clone(2) with CLONE_PARENT.
SIBLING = "perl -e 'exec qw(sleep {s}) if syscall(56, 0x8000 | 17, 0, 0, 0, 0) == 0'"
TRICKS = (*DETACHED.values(), *HIDDEN.values(), SIBLING)
ENDINGS = ["exit and DELETE", "stop", "kill", "SIGTERM", "SIGKILL"]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    arguments = ["--process-user", USER, "--process-memory-mb", "200", "--process-cpu-s", "100"]
    process = ServerProcess(tmp_path / "server", arguments=arguments)
    with process:
        yield process


@pytest.mark.clause("processes-user")
def test_processes_and_terminals_run_as_the_user_with_the_limits(server: ServerProcess) -> None:
    processes = Processes(server.client)
    script = "id -un; ulimit -v; ulimit -t; echo $HOME"
    wanted = f"{USER}\n204800\n100\n"
    assert processes.run(script, cwd="/")["stdout"].startswith(wanted)
    terminal = processes.shell(script + "; echo hello > $(tty)", cwd="/", tty=True)
    processes.wait_for_exit(terminal)
    output = processes.output(terminal).replace(b"\r", b"").decode()
    assert output.startswith(wanted) and output.endswith("hello\n")
    answer = processes.request("POST", "/run", {"command": "no-such-program", "cwd": "/"})
    assert answer.status == 400


@pytest.mark.clause("processes-trees")
@pytest.mark.parametrize("tty", [False, True])
def test_a_process_that_hides_ends_with_its_tree(server: ServerProcess, tty: bool) -> None:
    processes = Processes(server.client)
    hidden = processes.create("/usr/bin/perl", "-e", HIDING, cwd="/", tty=tty)
    wait_until(hidden_sleeps, 10, "the hidden process")
    processes.ok("POST", f"/{hidden}/kill")
    wait_until(lambda: not hidden_sleeps(), 10, "no hidden process")


@pytest.mark.clause("processes-trees")
@pytest.mark.parametrize(("ending", "tty"), [("run", False), *product(ENDINGS, (False, True))])
def test_no_trick_outlives_the_end_of_its_process(
    start_server: Callable[..., ServerProcess],
    sleepers: Sleepers,
    tmp_path: Path,
    ending: str,
    tty: bool,
) -> None:
    open_for_all_users(tmp_path)
    prefix = [*WITHOUT_GROUPS, *WITH_DOCKER_CAPABILITIES]
    process = start_server(arguments=["--process-user", USER], prefix=prefix)
    processes = Processes(process.client)
    commands = "\n".join(command.format(s=sleepers.seconds) for command in TRICKS)
    if ending == "run":
        assert processes.run(f"{commands}\nsleep 0.3; echo done", cwd="/")["stdout"] == "done\n"
        is_gone(sleepers)
        return
    script = commands + ("\nsleep 0.3; exit" if ending == "exit and DELETE" else "\nexec sleep 600")
    trick = processes.shell(script, cwd="/", tty=tty)
    wait_until(lambda: len(sleepers.alive()) == len(TRICKS), 10, "all processes of the tricks")
    if ending == "exit and DELETE":
        processes.wait_for_exit(trick)
        assert processes.request("DELETE", f"/{trick}").status == 204
    elif ending in ("stop", "kill"):
        assert processes.ok("POST", f"/{trick}/{ending}")["status"] == "exited"
    else:
        if ending == "SIGKILL":
            wait_until(lambda: "watchdog.hidden_processes" in process.log(), 10, "a watchdog that knows")
        process.signal(signal.Signals[ending])
        process.wait_for_exit(6)
    is_gone(sleepers)


def hidden_sleeps() -> list[str]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if (entry / "cmdline").read_bytes() == b"/bin/sleep\x00609.25\x00":
                    found.append(entry.name)
            except OSError:
                continue
    return found
