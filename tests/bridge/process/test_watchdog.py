"""The watchdog: what it inherits from the server, and how it ends."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from sandbox_agent.bridge.process.tree import tags
from sandbox_agent.bridge.process.watchdog import Watchdog
from tests.support.processes import wait_until


@pytest.fixture
def watchdog(monkeypatch: pytest.MonkeyPatch) -> Iterator[Watchdog]:
    monkeypatch.setenv("SANDBOX_AGENT_TOKEN", "a secret")
    watchdog = Watchdog(tags.new_server_tag())
    yield watchdog
    watchdog.dismiss()
    assert not os.path.exists(f"/proc/{watchdog.pid}")


def test_it_holds_no_descriptor_but_its_end_of_the_pipe() -> None:
    read_end, write_end = os.pipe()
    os.set_inheritable(write_end, True)
    watchdog = Watchdog(tags.new_server_tag())
    os.close(write_end)
    try:
        # No other process has the write end open any more.
        os.set_blocking(read_end, False)
        assert os.read(read_end, 1) == b""
        place = f"/proc/{watchdog.pid}"
        wait_until(lambda: os.readlink(f"{place}/cwd") == "/", 10, "a watchdog that has left our directory")
        opened = {fd: os.readlink(f"{place}/fd/{fd}") for fd in os.listdir(f"{place}/fd")}
        assert opened.pop("0").startswith("pipe:")
        assert set(opened.values()) == {"/dev/null"}
    finally:
        os.close(read_end)
        watchdog.dismiss()


def test_it_leads_a_session_of_its_own_and_does_not_know_the_token(watchdog: Watchdog) -> None:
    assert os.getsid(watchdog.pid) == watchdog.pid
    with open(f"/proc/{watchdog.pid}/environ", "rb") as environ:
        assert b"a secret" not in environ.read()


def test_dismissing_one_that_was_killed_and_collected_does_no_harm() -> None:
    watchdog = Watchdog(tags.new_server_tag())
    os.kill(watchdog.pid, 9)
    os.waitpid(watchdog.pid, 0)
    watchdog.dismiss()
