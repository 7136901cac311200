"""Looking again before falling asleep: only in a conversation, and only for a moment."""

from __future__ import annotations

import os
import select
from collections.abc import Iterator
from time import monotonic

import pytest

from sandbox_agent.runtime.busy_poll import BusyPoll

AT_ONCE_S, LATER_S = 50e-6, 0.002
AWAKE_S = 100e-6
LIMIT_S = 10.0


class Descriptors:
    """A pipe and an epoll that watches it and counts how often somebody looks."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self.read_end, self.write_end = os.pipe()
        self._epoll.register(self.read_end, select.EPOLLIN)
        self.looks = 0

    def poll(self, timeout: float, most: int) -> list[tuple[int, int]]:
        assert timeout == 0, "a vigil is no sleep"
        self.looks += 1
        return self._epoll.poll(timeout, most)

    def close(self) -> None:
        self._epoll.close()
        os.close(self.read_end)
        os.close(self.write_end)


@pytest.fixture
def descriptors() -> Iterator[Descriptors]:
    descriptors = Descriptors()
    yield descriptors
    descriptors.close()


@pytest.fixture
def vigil(descriptors: Descriptors) -> BusyPoll:
    return BusyPoll(descriptors, AWAKE_S)  # type: ignore[arg-type]  # it only polls


def converse(vigil: BusyPoll) -> float:
    """Wait several times, one right after the other; the time at the last of them."""
    now = monotonic() - LIMIT_S
    for _ in range(20):
        now += AT_ONCE_S
        vigil.keep(now)
    return now


def test_waits_that_last_are_slept_through(vigil: BusyPoll, descriptors: Descriptors) -> None:
    os.write(descriptors.write_end, b"x")
    for count in range(20):
        assert vigil.keep(count * LATER_S) is None
    assert descriptors.looks == 0


def test_a_request_and_its_answer_are_no_conversation_yet(vigil: BusyPoll, descriptors: Descriptors) -> None:
    now = 0.0
    for _ in range(20):
        now += LATER_S
        for moment in (now, now + AT_ONCE_S, now + 2 * AT_ONCE_S):
            assert vigil.keep(moment) is None
    assert descriptors.looks == 0


def test_in_a_conversation_what_comes_soon_is_found_awake(vigil: BusyPoll, descriptors: Descriptors) -> None:
    now = converse(vigil)
    os.write(descriptors.write_end, b"x")
    descriptors.looks = 0
    assert vigil.keep(now + AT_ONCE_S) == [(descriptors.read_end, select.EPOLLIN)]
    assert descriptors.looks == 1


def test_a_vigil_in_which_nothing_comes_is_short(vigil: BusyPoll, descriptors: Descriptors) -> None:
    deadline = monotonic() + LIMIT_S
    while not descriptors.looks:  # Somebody else may get the processor between two waits.
        began = monotonic()
        assert began < deadline
        assert vigil.keep(began) is None
    assert monotonic() - began < LIMIT_S / 10


def test_after_one_wait_that_lasted_nobody_stays_awake(vigil: BusyPoll, descriptors: Descriptors) -> None:
    now = converse(vigil)
    descriptors.looks = 0
    assert vigil.keep(now + LATER_S) is None
    assert descriptors.looks == 0
