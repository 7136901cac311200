"""Nothing of an agent's tree survives DELETE, SIGTERM or SIGKILL of the server, however it tries.

The agents are shell scripts that any user can run. They start `sleep` with a number of seconds that no other
process has, so that the test finds every one of them, also without environment, parent and tag.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox_agent.bridge.process.tree import control_group
from tests.security.processes.sleepers import (
    DETACHED,
    HIDDEN,
    WITH_DOCKER_CAPABILITIES,
    WITHOUT_GROUPS,
    Sleepers,
    is_gone,
)
from tests.support.machine.without_calls import without_calls
from tests.support.processes import children_of, wait_until
from tests.support.server_process import ServerProcess, open_for_all_users, place_launcher

TAKEN_AWAY = "(ulimit -w unlimited; env -i setsid sleep {s} >/dev/null 2>&1 &)"

ENDINGS = ["DELETE", "SIGTERM", "SIGKILL"]


def agent_script(seconds: str, *commands: str) -> str:
    """An agent that runs the commands, answers its first message, and ignores the end of its stdin."""
    return "\n".join(
        [
            "#!/bin/sh",
            "read -r line",
            *(command.format(s=seconds) for command in commands),
            """printf '{"jsonrpc":"2.0","id":1,"result":{}}\\n'""",
            "trap '' TERM HUP",
            f"sleep {seconds}",
            f"exec sleep {seconds}",
        ]
    )


@pytest.fixture
def start_with(start_server, sleepers: Sleepers, tmp_path: Path) -> Callable[..., ServerProcess]:
    """Start a server and an agent that runs the commands."""

    def start(*commands: str, arguments: list[str] | None = None, prefix: list[str]) -> ServerProcess:
        open_for_all_users(tmp_path)
        server: ServerProcess = start_server(arguments=arguments, prefix=prefix)
        place_launcher(server.data_home, "pi", agent_script(sleepers.seconds, *commands))
        open_for_all_users(server.data_home / "sandbox-agent" / "bin" / "agent_processes")
        server.acp.call("x", "go", request_id=1, agent="pi")
        # The agent itself runs one more.
        wait_until(lambda: len(sleepers.alive()) == len(commands) + 1, 10, "all processes of the agent")
        return server

    return start


def end(server: ServerProcess, how: str) -> None:
    if how == "DELETE":
        assert server.acp.delete("x").status == 204
    else:
        server.signal(signal.Signals[how])
        server.wait_for_exit(5)


@pytest.mark.root
@pytest.mark.clause("security-H3", "promise-H")
@pytest.mark.parametrize("ending", ENDINGS)
def test_another_user_with_the_capabilities_of_a_container(start_with, sleepers, ending: str) -> None:
    server = start_with(
        *DETACHED.values(),
        arguments=["--agent-user", "nobody"],
        prefix=[*WITHOUT_GROUPS, *WITH_DOCKER_CAPABILITIES],
    )
    assert "process_tags.unavailable" not in server.log()
    end(server, ending)
    is_gone(sleepers)


def with_shell_that_cannot_set_tags(directory: Path) -> list[str]:
    """A namespace in which the `ulimit` of /bin/sh knows neither -w nor -x, as in some small shells."""
    shell = directory / "sh"
    shell.write_text(
        "#!/bin/bash\n"
        'ulimit() { case $1 in -w | -x) return 2 ;; *) builtin ulimit "$@" ;; esac; }\n'
        'shift; script=$1; shift; shift; eval "$script"\n'
    )
    shell.chmod(0o755)
    return ["unshare", "-m", "bash", "-c", f'mount --bind {shell} "$(realpath /bin/sh)" && exec "$@"', "bash"]


@pytest.mark.root
@pytest.mark.clause("security-H3", "promise-H")
def test_the_tag_is_there_before_the_user_changes(start_server, sleepers, tmp_path: Path) -> None:
    open_for_all_users(tmp_path)
    server: ServerProcess = start_server(
        arguments=["--agent-user", "nobody"],
        prefix=[
            *WITHOUT_GROUPS,
            *with_shell_that_cannot_set_tags(tmp_path),
            *WITH_DOCKER_CAPABILITIES,
        ],
    )
    script = agent_script(sleepers.seconds, *DETACHED.values()).replace("#!/bin/sh", "#!/bin/bash")
    place_launcher(server.data_home, "pi", script)
    open_for_all_users(server.data_home / "sandbox-agent" / "bin" / "agent_processes")
    server.acp.call("x", "go", request_id=1, agent="pi")
    wait_until(lambda: len(sleepers.alive()) == len(DETACHED) + 1, 10, "all processes of the agent")
    limits = [Path(f"/proc/{pid}/limits").read_text() for pid in sleepers.alive()]
    assert not any(re.search(r"Max file locks +unlimited", text) for text in limits), limits[0]
    assert "process_tags.unavailable" not in server.log()
    server.signal(signal.SIGKILL)
    server.wait_for_exit(5)
    is_gone(sleepers)


@pytest.mark.root
@pytest.mark.clause("security-M3", "promise-H")
@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("user", ["nobody", None])
def test_processes_that_change_their_tag(start_with, sleepers, user: str | None, ending: str) -> None:
    server = start_with(
        *HIDDEN.values(),
        arguments=["--agent-user", user] if user else [],
        prefix=[*WITHOUT_GROUPS, *WITH_DOCKER_CAPABILITIES],
    )
    if ending == "SIGKILL":
        wait_until(lambda: "watchdog.hidden_processes" in server.log(), 10, "a watchdog that knows of them")
    end(server, ending)
    is_gone(sleepers)


@pytest.mark.root
@pytest.mark.clause("security-M3")
@pytest.mark.parametrize("user", ["nobody", None])
def test_the_tag_cannot_be_taken_away_without_the_right_to_raise_limits(
    start_with, sleepers, user: str | None
) -> None:
    server = start_with(
        TAKEN_AWAY,
        arguments=["--agent-user", user] if user else [],
        prefix=[*WITHOUT_GROUPS, *WITH_DOCKER_CAPABILITIES],
    )
    server.signal(signal.SIGKILL)
    server.wait_for_exit(5)
    is_gone(sleepers)


@pytest.mark.root
@pytest.mark.clause("security-M3")
def test_a_hidden_process_goes_with_the_last_agent_that_can_have_started_it(start_with, sleepers) -> None:
    """Which of two agents it belongs to cannot be known; the process of the other one must not be killed."""
    server = start_with(prefix=[*WITHOUT_GROUPS, *WITH_DOCKER_CAPABILITIES])
    place_launcher(server.data_home, "pi", agent_script(sleepers.seconds, HIDDEN["lower"]))
    server.acp.call("hides", "go", request_id=1, agent="pi")
    wait_until(lambda: len(sleepers.alive()) == 3, 10, "two agents and a hidden process")
    later = server.acp.start()
    assert server.acp.delete("hides").status == 204
    wait_until(lambda: len(sleepers.alive()) == 2, 5, "the end of the agent")
    assert server.acp.delete("x").status == 204
    is_gone(sleepers)
    assert server.acp.call(later, "test/echo", {"still": "here"})["echo"] == {"still": "here"}


@pytest.mark.root
@pytest.mark.clause("security-M3")
def test_children_that_the_server_had_before_it_was_executed_are_left_alone(
    start_with, sleepers, tmp_path: Path
) -> None:
    other, flag = Sleepers(), tmp_path / "flag"
    before = [
        "sh",
        "-c",
        f"(until [ -e {flag} ]; do sleep 0.05; done; (env -i setsid sleep {other.seconds} &); "
        f'exec sleep {other.seconds}) & exec "$@"',
        "sh",
    ]
    try:
        server = start_with(HIDDEN["lower"], prefix=[*WITHOUT_GROUPS, *WITH_DOCKER_CAPABILITIES, *before])
        flag.touch()
        wait_until(lambda: len(other.alive()) == 2, 5, "a child of the server and an orphan")
        theirs = other.alive()
        assert server.acp.delete("x").status == 204
        is_gone(sleepers)
        assert other.alive() == theirs
    finally:
        other.kill()


@pytest.mark.root
@pytest.mark.clause("security-M3")
def test_process_1_of_a_container_ends_what_hides_and_leaves_other_orphans_alone(
    start_with, sleepers
) -> None:
    """Process 1 adopts every orphan of its container, also those that no agent has started."""
    as_process_1 = ["unshare", "--pid", "--fork", "--mount-proc"]
    other = Sleepers()
    server = start_with(HIDDEN["lower"], prefix=[*WITHOUT_GROUPS, *as_process_1, *WITH_DOCKER_CAPABILITIES])
    (inner,) = children_of(server.pid)
    try:
        into = ["nsenter", "--target", str(inner), "--pid", "--mount", "sh", "-c"]
        subprocess.run([*into, f"(setsid sleep {other.seconds} >/dev/null 2>&1 &)"], timeout=10, check=True)
        wait_until(lambda: children_of(inner) & set(other.alive()), 5, "an adopted process of another origin")
        assert server.acp.delete("x").status == 204
        is_gone(sleepers)
        assert other.alive()
    finally:
        other.kill()
        os.kill(inner, signal.SIGTERM)
        assert server.wait_for_exit(5) == 0


def has_groups() -> bool:
    own = control_group.own_group()
    return own is not None and os.access(own, os.W_OK) and os.path.exists("/proc/self/cgroup")


def members_of(group: Path) -> set[int]:
    """The processes of a group; none if it is gone, because servers of other tests end meanwhile."""
    try:
        return {int(pid) for pid in (group / "cgroup.procs").read_text().split()}
    except OSError:
        return set()


@pytest.mark.root
@pytest.mark.skipif(not has_groups(), reason="needs a cgroup v2 in which groups can be made")
@pytest.mark.clause("security-cgroup", "promise-H")
@pytest.mark.parametrize("ending", ENDINGS)
def test_control_groups_end_what_hides_at_once_and_nothing_is_left_of_them(
    start_with, sleepers, ending: str
) -> None:
    # The agent is in its group some milliseconds after its start; what it starts before is found by its tag.
    in_group = "until grep -q sandbox-agent- /proc/self/cgroup; do sleep 0.01; done; "
    # A hidden process with a child of its own.
    parent = in_group + "(ulimit -w 5; env -i setsid sh -c 'sleep {s} & wait' >/dev/null 2>&1 &)"
    server = start_with(parent, HIDDEN["lower"], prefix=[])
    own = control_group.own_group()
    groups = {
        name: members
        for name in os.listdir(own)
        if name.startswith("sandbox-agent-")
        and (members := members_of(Path(own, name, "1"))) & set(sleepers.alive())
    }
    assert set(sleepers.alive()) <= set().union(*groups.values())
    end(server, ending)
    is_gone(sleepers)
    if ending == "DELETE":
        assert server.acp.start()
        end(server, "SIGTERM")
    wait_until(lambda: not set(groups) & set(os.listdir(own)), 5, "no group left")


def watchdog_of(server: ServerProcess) -> int | None:
    processes = server.marked_processes().items()
    return next((pid for pid, line in processes if "sandbox-agent-watchdog" in line), None)


@pytest.mark.root
@pytest.mark.clause("security-M4", "promise-H")
def test_a_watchdog_that_was_killed_is_replaced(start_with, sleepers) -> None:
    server = start_with(*DETACHED.values(), prefix=WITHOUT_GROUPS)
    for _ in range(2):
        first = wait_until(lambda: watchdog_of(server), 5, "a watchdog")
        os.kill(first, signal.SIGKILL)
        wait_until(lambda first=first: watchdog_of(server) not in (None, first), 5, "another watchdog")
        assert f"watchdog.killed pid={first}" in server.log()
    server.signal(signal.SIGKILL)
    server.wait_for_exit(5)
    is_gone(sleepers)


@pytest.mark.root
@pytest.mark.clause("security-M4")
def test_a_watchdog_that_was_stopped_is_continued(start_with, sleepers) -> None:
    server = start_with(*DETACHED.values(), prefix=WITHOUT_GROUPS)
    watchdog = wait_until(lambda: watchdog_of(server), 5, "a watchdog")
    os.kill(watchdog, signal.SIGSTOP)
    wait_until(lambda: f"watchdog.continued pid={watchdog}" in server.log(), 5, "a continued watchdog")
    server.signal(signal.SIGKILL)
    server.wait_for_exit(5)
    is_gone(sleepers)


@pytest.mark.root
@pytest.mark.clause("security-H3")
@pytest.mark.parametrize("ending", ["DELETE", "SIGKILL"])
@pytest.mark.parametrize("user", ["nobody", None])
def test_the_server_says_at_its_start_that_it_has_no_tags(
    start_with, sleepers, user: str | None, ending: str
) -> None:
    server = start_with(
        DETACHED["setsid"],
        DETACHED["double fork, empty environment"],
        arguments=["--agent-user", user] if user else [],
        prefix=[*WITHOUT_GROUPS, *WITH_DOCKER_CAPABILITIES, *without_calls("prlimit64:1=10=EPERM")],
    )
    wait_until(lambda: "process_tags.unavailable" in server.log(), 10, "a warning")
    if ending == "SIGKILL":
        # The agent and what the server has adopted are named; the child of the agent is found below it.
        needed = {server.acp.entry("x")["pid"]} | (children_of(server.pid) & set(sleepers.alive()))
        assert len(needed) == 2
        wait_until(lambda: needed <= named_processes(server), 10, "a watchdog that knows of them")
    end(server, ending)
    is_gone(sleepers)


def named_processes(server: ServerProcess) -> set[int]:
    """The processes that the server has named to its watchdog."""
    lines = [line for line in server.log().splitlines() if "watchdog.hidden_processes" in line]
    return {int(pid) for pid in re.findall(r"\d+", lines[-1].partition("pids=")[2])} if lines else set()
