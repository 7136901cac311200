"""Whole trees end: children, sessions of their own, double forks, stripped environments."""

from __future__ import annotations

import os
import signal
import subprocess
import time

import pytest

from tests.support.clients.acp import AGENT, Acp
from tests.support.grown_tree import FORKS, grow_tree
from tests.support.processes import children_of, is_alive, wait_until, wait_until_dead, zombies_of
from tests.support.server_process import place_launcher, scripted_launcher


@pytest.mark.clause("promise-H")
@pytest.mark.parametrize("stubborn", [False, True])
def test_delete_ends_the_whole_tree(acp: Acp, server_id: str, stubborn: bool) -> None:
    people = grow_tree(acp, server_id, stubborn=stubborn)
    assert acp.delete(server_id).status == 204
    wait_until_dead(people, 5)


@pytest.mark.clause("promise-H")
@pytest.mark.parametrize("method", FORKS)
def test_delete_after_the_agent_itself_is_gone_still_ends_its_children(
    acp: Acp, server_id: str, method: str
) -> None:
    child = acp.call(server_id, method, {"ignore_signals": True})
    assert acp.send(server_id, "test/kill_self").status == 502
    assert acp.delete(server_id).status == 204
    wait_until_dead([child], 5)


def test_a_restart_after_a_crash_ends_the_children_of_the_crashed_one(acp: Acp, server_id: str) -> None:
    children = [acp.call(server_id, method, {"ignore_signals": True}) for method in FORKS]
    assert acp.send(server_id, "test/kill_self").status == 502
    assert acp.call(server_id, "test/echo", agent=AGENT)
    wait_until_dead(children, 5)


@pytest.mark.clause("promise-H")
def test_the_tree_of_another_instance_and_of_the_user_is_left_alone(acp: Acp, server_id: str) -> None:
    other = acp.start()
    neighbours = grow_tree(acp, other, stubborn=False)
    users_own = subprocess.Popen(["/bin/sleep", "60"], start_new_session=True, env={})
    try:
        people = grow_tree(acp, server_id, stubborn=True)
        assert acp.delete(server_id).status == 204
        wait_until_dead(people, 5)
        assert all(is_alive(one) for one in neighbours)
        assert users_own.poll() is None
    finally:
        users_own.kill()
        users_own.wait()


QUICK_FORK = """#!/usr/bin/env python3
import os, resource, sys, time
# As a child that was started before the agent was marked: only its environment says whose it is.
if os.fork() == 0:
    time.sleep(0.5)
    hard = resource.getrlimit(10)[1]
    resource.setrlimit(10, (hard, hard))
    if os.fork() == 0:
        os.setsid()
        os.execv("/bin/sleep", ["sleep", {seconds!r}])
    os._exit(0)
for line in sys.stdin:
    pass
"""


@pytest.mark.own_server("only the server command adopts orphans and starts the watchdog")
@pytest.mark.ours
@pytest.mark.parametrize("seconds", ["1", "600"])
def test_every_dead_child_is_reaped(start_server, seconds: str) -> None:
    server = start_server()
    place_launcher(server.data_home, "pi", QUICK_FORK.format(seconds=seconds))
    before = children_of(server.pid)
    assert server.acp.post("quick", b'{"method":"x"}', agent="pi").status == 202
    # The agent, the watchdog, and the adopted orphan.
    wait_until(lambda: len(children_of(server.pid) - before) >= 3, 10, "the orphan's arrival")
    if seconds == "600":
        assert server.acp.delete("quick").status == 204
    else:
        wait_until(lambda: len(children_of(server.pid) - before) == 2, 10, "the orphan's end")
    wait_until(lambda: not zombies_of(server.pid), 5, "the end of all zombies")
    if seconds != "600":
        assert server.acp.delete("quick").status == 204


@pytest.mark.own_server("only the server command adopts orphans and starts the watchdog")
@pytest.mark.clause("promise-H", "promise-P")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("stubborn", [False, True])
def test_the_end_of_the_server_ends_every_tree(start_server, number: signal.Signals, stubborn: bool) -> None:
    server = start_server()
    people = []
    for _ in range(3):
        people += grow_tree(server.acp, server.acp.start(), stubborn=stubborn)
    server.signal(number)
    server.wait_for_exit(5)
    wait_until_dead(people, 5)
    wait_until(lambda: not server.marked_processes(), 5, f"no survivor: {server.marked_processes()}")


def test_the_guard_survives_a_signal_to_the_whole_group_of_the_server(start_server) -> None:
    """Ctrl+C in a terminal goes to every process of the foreground group."""
    server = start_server()
    people = grow_tree(server.acp, server.acp.start(), stubborn=True)
    others = [pid for pid in server.marked_processes() if os.getpgid(pid) == os.getpgid(server.pid)]
    for pid in others:
        os.kill(pid, signal.SIGINT)
    server.wait_for_exit(5)
    wait_until_dead(people, 5)


@pytest.mark.own_server("only the server command adopts orphans and starts the watchdog")
@pytest.mark.clause("promise-H")
def test_server_killed_while_agents_flood_and_hold_requests(start_server) -> None:
    server = start_server()
    acp = server.acp
    server_id = acp.start()
    people = grow_tree(acp, server_id, stubborn=True)
    acp.call(server_id, "test/flood", {"count": 10**9, "size": 100, "background": True})
    server.signal(signal.SIGKILL)
    server.wait_for_exit(5)
    wait_until_dead(people, 5)


@pytest.mark.clause("agents-inherited-environment")
def test_agents_run_in_a_session_and_group_of_their_own(acp: Acp, server_id: str) -> None:
    agent_process = acp.call(server_id, "test/info")
    assert agent_process["sid"] == agent_process["pgid"] != os.getsid(0)


@pytest.mark.serial
@pytest.mark.clause("promise-H")
def test_a_wrapper_script_and_its_agent_both_end(start_server) -> None:
    server = start_server()
    inner = place_launcher(server.data_home, "inner", scripted_launcher())
    place_launcher(server.data_home, AGENT, f"#!/bin/sh\ntrap '' TERM\n'{inner}'\necho over >&2\nsleep 600\n")
    acp = server.acp
    server_id = acp.start()
    agent_process = acp.call(server_id, "test/info")
    wrapper = agent_process["ppid"]
    began = time.monotonic()
    assert acp.delete(server_id).status == 204
    assert time.monotonic() - began < 1.5
    wait_until_dead([agent_process], 5)
    wait_until(lambda: wrapper not in server.marked_processes(), 5, "the end of the wrapper")
