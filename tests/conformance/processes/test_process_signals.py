"""Stop, kill and the end of the server: nothing of a process tree is left."""

from __future__ import annotations

import signal
import time

import pytest

from tests.conformance.conftest import Target
from tests.support.clients.process_api import Processes
from tests.support.processes import wait_until

# A child in the group, one in a session of its own, an orphan in its own session, one that ignores signals.
TREE = (
    "sleep 601 & setsid sleep 602 & (setsid sh -c 'sleep 603 & exit' &) ; "
    "(trap '' TERM HUP INT; sleep 604 & wait) & echo grown; "
)


def sleeping(target: Target) -> list[str]:
    assert target.process is not None
    return [line for line in target.process.marked_processes().values() if line.startswith("sleep 60")]


def grow(processes: Processes, target: Target, after: str, **more: object) -> str:
    process = processes.shell(TREE + after, **more)
    processes.wait_for_output(process, b"grown")
    wait_until(lambda: len(sleeping(target)) == 4, 5, "the tree")
    return process


@pytest.mark.clause("processes-trees")
@pytest.mark.defect("D7")
@pytest.mark.parametrize("tty", [False, True])
def test_kill_ends_the_whole_tree(processes: Processes, target: Target, tty: bool) -> None:
    process = grow(processes, target, "wait", tty=tty)
    assert processes.ok("POST", f"/{process}/kill")["status"] == "exited"
    wait_until(lambda: not sleeping(target), 5, "no process of the tree")


@pytest.mark.clause("processes-trees")
@pytest.mark.defect("D7")
@pytest.mark.parametrize("tty", [False, True])
def test_stop_ends_the_whole_tree_when_the_process_exits(
    processes: Processes, target: Target, tty: bool
) -> None:
    process = grow(processes, target, "wait", tty=tty)
    assert processes.ok("POST", f"/{process}/stop")["status"] == "exited"
    wait_until(lambda: not sleeping(target), 5, "no process of the tree")


@pytest.mark.clause("processes-trees")
def test_stop_ends_an_interactive_shell(processes: Processes) -> None:
    process = processes.create("bash", "--norc", "-i", tty=True)
    processes.wait_for_output(process, b"$" if processes.run("id -u")["stdout"].strip() != "0" else b"#")
    assert processes.ok("POST", f"/{process}/stop")["status"] == "exited"


@pytest.mark.ours
@pytest.mark.clause("processes-trees")
def test_stop_escalates_only_if_asked(processes: Processes) -> None:
    process = processes.shell("trap '' TERM; echo ready; while :; do sleep 1; done")
    processes.wait_for_output(process, b"ready")
    assert processes.ok("POST", f"/{process}/stop?waitMs=200")["status"] == "running"
    stopped = processes.ok("POST", f"/{process}/stop?waitMs=200&escalate=true")
    assert (stopped["status"], stopped["signal"]) == ("exited", "SIGKILL")


@pytest.mark.clause("processes-wire")
def test_stop_does_not_wait_with_zero_and_ends_early_at_the_exit(processes: Processes) -> None:
    process = processes.shell("trap '' TERM; echo ready; while :; do sleep 1; done")
    processes.wait_for_output(process, b"ready")
    assert processes.ok("POST", f"/{process}/stop?waitMs=0")["status"] == "running"
    began = time.monotonic()
    assert processes.ok("POST", f"/{process}/kill?waitMs=60000")["status"] == "exited"
    assert time.monotonic() - began < 10


@pytest.mark.clause("processes-wire")
def test_stop_and_kill_of_an_exited_process_are_200(processes: Processes) -> None:
    process = processes.shell("exit 4")
    processes.wait_for_exit(process)
    for action in ("stop", "kill"):
        assert processes.ok("POST", f"/{process}/{action}")["exitCode"] == 4


@pytest.mark.clause("processes-wire")
def test_what_a_process_leaves_behind_goes_on_until_it_is_deleted(
    processes: Processes, target: Target
) -> None:
    process = processes.shell("(echo early; sleep 605; echo late) & exit 0")
    processes.wait_for_exit(process)
    processes.wait_for_output(process, b"early")
    wait_until(lambda: len(sleeping(target)) == 1, 5, "the child")
    assert processes.request("DELETE", f"/{process}").status == 204
    wait_until(lambda: not sleeping(target), 5, "no process of the tree")


@pytest.mark.own_server("the watchdog belongs to the server command")
@pytest.mark.clause("processes-trees")
@pytest.mark.defect("D20", "D21")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_the_end_of_the_server_ends_every_tree(start_server, number: signal.Signals) -> None:
    process = start_server()
    processes = Processes(process.client)
    for tty in (False, True):
        processes.wait_for_output(processes.shell(TREE + "wait", tty=tty), b"grown")
    processes.create("bash", "--norc", "-i", tty=True)
    terminal = processes.create("cat", tty=True)
    with processes.terminal(terminal) as socket:
        socket.wait_for_frame("ready")
        process.signal(number)
        process.wait_for_exit(6)
        socket.read_to_end()
        if number != signal.SIGKILL:
            assert socket.socket.close_code == 1001
    wait_until(lambda: not process.marked_processes(), 5, "no process left")
