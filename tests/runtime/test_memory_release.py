"""Freed memory goes back to the system: after growth, after large parts have ended, and after a busy time."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from sandbox_agent.runtime import memory_release
from sandbox_agent.runtime.memory_release import MemoryRelease

MIB = 1 << 20


class Machine:
    """A loop whose time passes by `pass_interval`, a process with a memory and a processor time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.cpu_s = 0.0
        self.resident = 100 * MIB
        self.ended = 0
        self.releases = 0
        self._check: Callable[[], object] = lambda: None
        monkeypatch.setattr(memory_release, "time", SimpleNamespace(process_time=lambda: self.cpu_s))
        monkeypatch.setattr(MemoryRelease, "_resident_bytes", lambda _: self.resident)
        MemoryRelease(self, lambda: self.ended)  # type: ignore[arg-type]

    def call_later(self, delay_s: float, check: Callable[[], object]) -> None:
        self._check = check

    def in_thread(self, job: Any, done: Callable[..., object]) -> None:
        self.releases += 1
        self.cpu_s += 0.05  # what the work itself costs
        done(None, None)

    def pass_interval(self, cpu_s: float = 0.0) -> int:
        """Two seconds, in which the process works for `cpu_s`. Returns how often memory was returned."""
        self.cpu_s += cpu_s
        self._check()
        return self.releases


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(monkeypatch)


def test_nothing_is_returned_without_a_reason(machine: Machine) -> None:
    machine.resident += 3 * MIB
    assert [machine.pass_interval(0.001) for _ in range(20)] == [0] * 20


def test_growth_and_ended_parts_are_returned_once(machine: Machine) -> None:
    machine.resident += 5 * MIB
    assert [machine.pass_interval() for _ in range(3)] == [1, 1, 1]
    machine.ended += 1
    assert [machine.pass_interval() for _ in range(3)] == [2, 2, 2]


@pytest.mark.clause("security-L9")
def test_what_was_freed_since_is_returned_when_a_busy_time_is_over(machine: Machine) -> None:
    """The work held 5 MB when memory was returned in the middle of it, and has freed them without growth."""
    machine.resident += 5 * MIB
    assert machine.pass_interval(0.15) == 1
    assert [machine.pass_interval(0.15) for _ in range(10)] == [1] * 10, "while it works"
    assert [machine.pass_interval() for _ in range(10)] == [2] * 10


def test_nothing_is_returned_during_load(machine: Machine) -> None:
    machine.resident += 500 * MIB
    assert [machine.pass_interval(0.5) for _ in range(5)] == [0] * 5
    assert machine.pass_interval() == 1
