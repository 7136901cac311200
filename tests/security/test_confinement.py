"""Agents with less: another user, limits on memory, processes and CPU time, a short environment."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes import is_alive, wait_until, wait_until_dead
from tests.support.server_process import (
    SCRIPTED_AGENT,
    ServerProcess,
    bare_environment,
    open_for_all_users,
    place_launcher,
)

UNPRIVILEGED_UID = 65534


def limits_of(pid: int) -> dict[str, tuple[str, str]]:
    """Soft and hard limits by name, as the kernel has them."""
    lines = Path(f"/proc/{pid}/limits").read_text().splitlines()[1:]
    return {line[:26].strip(): (line[26:47].strip(), line[47:68].strip()) for line in lines}


# A shell agent that any user can run: it answers the first line with its user and groups, then waits.
SHELL_AGENT = """#!/bin/sh
read -r line
printf '{"jsonrpc":"2.0","id":1,"result":{"uid":"%s","groups":"%s","home":"%s","user":"%s"}}\\n' \\
  "$(id -u)" "$(id -G)" "$HOME" "$USER"
exec cat >/dev/null
"""


@pytest.mark.clause("security-confinement")
@pytest.mark.root
def test_agents_run_as_the_user_that_is_named_and_go_with_the_server(start_server, tmp_path: Path) -> None:
    open_for_all_users(tmp_path)
    server: ServerProcess = start_server(arguments=["--agent-user", "nobody"])
    place_launcher(server.data_home, "pi", SHELL_AGENT)
    open_for_all_users(server.data_home / "sandbox-agent" / "bin" / "agent_processes")
    result = server.acp.call("x", "who", request_id=1, agent="pi")
    assert result["uid"] == str(UNPRIVILEGED_UID)
    assert "0" not in result["groups"].split(), "the server's groups must not be inherited"
    assert result["user"] == "nobody" and result["home"] != os.environ["HOME"]
    row = server.acp.entry("x")
    assert row is not None and os.stat(f"/proc/{row['pid']}").st_uid == UNPRIVILEGED_UID
    assert server.acp.delete("x").status == 204
    wait_until(lambda: not os.path.exists(f"/proc/{row['pid']}"), 5, "the end of the other user's process")


@pytest.mark.clause("security-confinement")
def test_a_user_that_does_not_exist_is_said_at_start(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "sandbox_agent", "server", "--port", "0", "--agent-user", "no-such-user"],
        env=bare_environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    assert done.returncode == 2
    assert "no-such-user" in done.stderr


@pytest.mark.clause("security-confinement")
def test_limits_hold_for_the_agent_and_everything_it_starts_from_its_first_moment(start_server) -> None:
    server: ServerProcess = start_server(
        arguments=["--agent-memory-mb", "700", "--agent-processes", "4000", "--agent-cpu-s", "50"]
    )
    child = server.data_home / "child"
    quick = f'#!/bin/sh\nsleep 600 &\necho $! > "{child}"\nexec {server_agent()}\n'
    place_launcher(server.data_home, "pi", quick)
    pid = server.acp.call("x", "test/info", agent="pi")["pid"]
    for who in (pid, int(child.read_text())):
        found = limits_of(who)
        assert found["Max address space"] == (str(700 << 20), str(700 << 20))
        assert found["Max processes"] == ("4000", "4000")
        assert found["Max cpu time"] == ("50", "50")
    assert limits_of(server.pid)["Max address space"][0] == "unlimited", "the server itself is not limited"


def server_agent() -> str:
    return f"{sys.executable} -I -S {SCRIPTED_AGENT}"


@pytest.mark.clause("security-confinement")
def test_an_agent_that_wants_too_much_memory_fails_alone(start_server) -> None:
    server: ServerProcess = start_server(arguments=["--agent-memory-mb", "300"])
    acp = server.acp
    greedy, modest = acp.start(), acp.start()
    answer = acp.send(greedy, "test/big_line", {"bytes": 1 << 30}, timeout=30)
    assert answer.status == 502, (answer.status, answer.body[:300])
    assert b"MemoryError" in answer.body
    assert acp.call(modest, "test/echo", {"still": "here"})["echo"] == {"still": "here"}


@pytest.mark.clause("security-confinement")
def test_an_agent_that_burns_its_cpu_time_is_ended_and_reported(start_server) -> None:
    server: ServerProcess = start_server(arguments=["--agent-cpu-s", "1"])
    place_launcher(server.data_home, "pi", "#!/bin/sh\nread -r line\nwhile :; do :; done\n")
    answer = server.acp.send("x", "burn", agent="pi", timeout=50)
    assert answer.status == 502
    assert answer.json()["details"]["signal"] in ("SIGKILL", "SIGXCPU"), answer.body


@pytest.mark.clause("security-confinement")
@pytest.mark.root
def test_a_fork_bomb_stops_at_its_limit_and_is_swept_away(start_server, tmp_path: Path) -> None:
    """The kernel counts processes by user and does not limit root, so the fork bomb runs as another user."""
    open_for_all_users(tmp_path)
    limit = len([p for p in os.listdir("/proc") if p.isdigit() and _owner(p) == UNPRIVILEGED_UID]) + 20
    server: ServerProcess = start_server(
        arguments=["--agent-user", "nobody", "--agent-processes", str(limit)]
    )
    count = " ".join(map(str, range(40)))
    bomb = f"#!/bin/sh\nread -r line\nfor i in {count}; do sleep 600 & done\nexec cat >/dev/null\n"
    place_launcher(server.data_home, "pi", bomb)
    open_for_all_users(server.data_home / "sandbox-agent" / "bin" / "agent_processes")
    answer = server.acp.send("x", "bang", agent="pi", timeout=20)
    assert answer.status == 502 and b"ork" in answer.body, answer.body[:500]
    sleepers = lambda: [p for p, line in server.marked_processes().items() if "sleep" in line]  # noqa: E731
    wait_until(lambda: not sleepers(), 8, "the end of the bomb's children")


def _owner(pid: str) -> int:
    try:
        return os.stat(f"/proc/{pid}").st_uid
    except OSError:
        return -1


@pytest.mark.clause("security-confinement")
def test_agents_inherit_only_the_variables_that_are_allowed(start_server) -> None:
    server: ServerProcess = start_server(
        arguments=["--agent-env-allow", "PATH", "--agent-env-allow", "WANTED"],
        settings={"WANTED": "yes", "PRIVATE_KEY_OF_THE_HOUSE": "hidden", "SANDBOX_AGENT_TOKEN": "x"},
    )
    environment = server.acp.call("x", "test/info", agent="pi")["env"]
    assert environment["WANTED"] == "yes" and "PATH" in environment
    assert "PRIVATE_KEY_OF_THE_HOUSE" not in environment and "HOME" not in environment
    ours = {"PATH", "WANTED", "PWD", "SHLVL", "_", "OLDPWD", "LC_CTYPE"}
    given = ("SANDBOX_AGENT_", "PI_")  # by the server, and by the catalogue's entry of this agent
    assert {name for name in environment if not name.startswith(given)} <= ours
    assert "SANDBOX_AGENT_TOKEN" not in environment


@pytest.mark.clause("security-confinement")
def test_an_allow_list_does_not_change_what_the_server_itself_reads(start_server) -> None:
    server: ServerProcess = start_server(arguments=["--agent-env-allow", "WANTED"])
    answer = server.acp.send("x", "test/info", agent="claude")
    assert answer.status == 404, "SANDBOX_AGENT_REQUIRE_PREINSTALL forbids to install"
    assert answer.json()["type"].endswith("agent_not_installed")


def test_a_bootstrap_may_add_variables_beyond_the_allow_list(start_server) -> None:
    server: ServerProcess = start_server(arguments=["--agent-env-allow", "PATH"])
    extra = {"X-Sandbox-Agent-Env": json.dumps({"GIVEN": "by the client"})}
    environment = server.acp.call("x", "test/info", agent="pi", headers=extra)["env"]
    assert environment["GIVEN"] == "by the client"


def test_agents_of_a_confined_server_die_with_it_when_it_is_killed(start_server) -> None:
    server: ServerProcess = start_server(arguments=["--agent-memory-mb", "900"])
    acp = server.acp
    server_id = acp.start()
    people = [acp.call(server_id, "test/info"), acp.call(server_id, "test/double_fork_clean_env")]
    assert all(is_alive(one) for one in people)
    server.signal(signal.SIGKILL)
    server.wait_for_exit(5)
    wait_until_dead(people, 8)
