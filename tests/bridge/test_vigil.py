"""Looking again before falling asleep: only in a conversation, and only for a moment."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Iterator

import pytest

from sandbox_agent.bridge.vigil import Vigil

LONG_S = 0.02
LIMIT_S = 10.0


class Descriptors:
    """A pipe and an epoll that watches it, and remembers how long it was to wait each time."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self.read_end, self.write_end = os.pipe()
        self._epoll.register(self.read_end, select.EPOLLIN)
        self.waits: list[float] = []

    def poll(self, timeout: float, most: int) -> list[tuple[int, int]]:
        self.waits.append(timeout)
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
def vigil(descriptors: Descriptors) -> Vigil:
    return Vigil(descriptors)  # type: ignore[arg-type]  # it only polls


def converse(vigil: Vigil, descriptors: Descriptors) -> None:
    """Until somebody who sleeps has been woken at once several times."""
    os.write(descriptors.write_end, b"x")
    for _ in range(3):
        assert vigil.wait(LIMIT_S) == [(descriptors.read_end, select.EPOLLIN)]
    os.read(descriptors.read_end, 1)
    descriptors.waits.clear()


def test_who_is_alone_sleeps_at_once(vigil: Vigil, descriptors: Descriptors) -> None:
    for _ in range(3):
        assert vigil.wait(LONG_S) == []
    assert descriptors.waits == [LONG_S] * 3


def test_a_question_and_its_answer_are_no_conversation_yet(vigil: Vigil, descriptors: Descriptors) -> None:
    os.write(descriptors.write_end, b"x")
    vigil.wait(LIMIT_S)
    os.read(descriptors.read_end, 1)
    vigil.wait(LONG_S)
    assert descriptors.waits == [LIMIT_S, LONG_S]


def test_in_a_conversation_what_comes_soon_is_found_awake(vigil: Vigil, descriptors: Descriptors) -> None:
    converse(vigil, descriptors)
    os.write(descriptors.write_end, b"x")
    assert vigil.wait(LIMIT_S) == [(descriptors.read_end, select.EPOLLIN)]
    assert descriptors.waits == [0]


def test_when_nothing_more_comes_it_falls_asleep_and_stays_so(
    vigil: Vigil, descriptors: Descriptors
) -> None:
    converse(vigil, descriptors)
    began = time.monotonic()
    assert vigil.wait(LONG_S) == []
    assert LONG_S <= time.monotonic() - began < LIMIT_S
    *looks, last = descriptors.waits
    assert looks, "it looked before it slept"
    assert set(looks) == {0}
    assert last == LONG_S
    descriptors.waits.clear()
    vigil.wait(LONG_S)
    assert descriptors.waits == [LONG_S]


def test_looking_does_not_wait(vigil: Vigil, descriptors: Descriptors) -> None:
    assert vigil.look() == []
    os.write(descriptors.write_end, b"x")
    assert vigil.look() == [(descriptors.read_end, select.EPOLLIN)]
