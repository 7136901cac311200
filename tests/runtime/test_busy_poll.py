"""Busy polling: only between messages that follow each other at once, and only for a short time."""

from __future__ import annotations

import os
import select
from collections.abc import Iterator
from time import monotonic

import pytest

from sandbox_agent.runtime.busy_poll import BusyPoll

AT_ONCE_S, LATER_S = 50e-6, 0.002
BUSY_POLL_S = 100e-6
LIMIT_S = 10.0


class Descriptors:
    """A pipe and an epoll that watches it and counts the polls."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self.read_end, self.write_end = os.pipe()
        self._epoll.register(self.read_end, select.EPOLLIN)
        self.polls = 0

    def poll(self, timeout: float, most: int) -> list[tuple[int, int]]:
        assert timeout == 0, "busy polling does not sleep"
        self.polls += 1
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
def busy_poll(descriptors: Descriptors) -> BusyPoll:
    return BusyPoll(descriptors, BUSY_POLL_S)  # type: ignore[arg-type]  # it only polls


def converse(busy_poll: BusyPoll) -> float:
    """Wait several times in short intervals; returns the time of the last wait."""
    now = monotonic() - LIMIT_S
    for _ in range(20):
        now += AT_ONCE_S
        busy_poll.poll(now)
    return now


def test_after_long_waits_the_loop_sleeps(busy_poll: BusyPoll, descriptors: Descriptors) -> None:
    os.write(descriptors.write_end, b"x")
    for count in range(20):
        assert busy_poll.poll(count * LATER_S) is None
    assert descriptors.polls == 0


def test_a_single_request_and_its_answer_do_not_start_polling(
    busy_poll: BusyPoll, descriptors: Descriptors
) -> None:
    now = 0.0
    for _ in range(20):
        now += LATER_S
        for moment in (now, now + AT_ONCE_S, now + 2 * AT_ONCE_S):
            assert busy_poll.poll(moment) is None
    assert descriptors.polls == 0


def test_between_frequent_messages_the_next_one_is_found_by_polling(
    busy_poll: BusyPoll, descriptors: Descriptors
) -> None:
    now = converse(busy_poll)
    os.write(descriptors.write_end, b"x")
    descriptors.polls = 0
    assert busy_poll.poll(now + AT_ONCE_S) == [(descriptors.read_end, select.EPOLLIN)]
    assert descriptors.polls == 1


def test_polling_without_a_result_is_short(busy_poll: BusyPoll, descriptors: Descriptors) -> None:
    deadline = monotonic() + LIMIT_S
    while not descriptors.polls:  # Another process may get the processor between two waits.
        began = monotonic()
        assert began < deadline
        assert busy_poll.poll(began) is None
    assert monotonic() - began < LIMIT_S / 10


def test_one_long_wait_ends_the_polling(busy_poll: BusyPoll, descriptors: Descriptors) -> None:
    now = converse(busy_poll)
    descriptors.polls = 0
    assert busy_poll.poll(now + LATER_S) is None
    assert descriptors.polls == 0
