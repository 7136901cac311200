"""The time-outs of a connection, on times that the test chooses."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from sandbox_agent.http.http1.connection_timeouts import ConnectionTimeouts
from sandbox_agent.http.http1.options import Http1Options

OPTIONS = Http1Options(max_header_bytes=1024, request_timeout_s=10, keep_alive_s=60)


def body(received: int, *, is_full: bool = False) -> Any:
    return SimpleNamespace(request=SimpleNamespace(received=received), is_full=is_full)


@pytest.mark.parametrize(
    ("check", "limit_s"),
    [
        (ConnectionTimeouts.keep_alive_over, 60),
        (ConnectionTimeouts.head_too_slow, 10),
        (ConnectionTimeouts.lingering_over, 30),
        (lambda timeouts, now: timeouts.body_too_slow(now, body(0)), 10),
    ],
    ids=["keep-alive", "head", "lingering", "body"],
)
def test_a_time_out_counts_from_the_first_check_of_a_state(check: Any, limit_s: float) -> None:
    timeouts = ConnectionTimeouts(OPTIONS)
    assert not check(timeouts, 1000.0)
    assert not check(timeouts, 1000.0 + limit_s)
    timeouts.state_since = None  # as the connection does when it changes its state
    assert not check(timeouts, 2000.0)
    assert check(timeouts, 2000.1 + limit_s)


def test_a_body_has_to_bring_64_kib_in_every_period() -> None:
    timeouts = ConnectionTimeouts(OPTIONS)
    assert not timeouts.body_too_slow(0.0, body(0))
    assert not timeouts.body_too_slow(11.0, body(65_536))
    assert not timeouts.body_too_slow(20.0, body(65_536))
    assert timeouts.body_too_slow(22.0, body(131_071))


def test_what_arrived_before_the_first_check_does_not_count_for_the_first_period() -> None:
    timeouts = ConnectionTimeouts(OPTIONS)
    assert not timeouts.body_too_slow(0.0, body(100_000))
    assert timeouts.body_too_slow(11.0, body(100_001))


def test_a_handler_that_takes_nothing_is_not_the_fault_of_the_client() -> None:
    timeouts = ConnectionTimeouts(OPTIONS)
    assert not timeouts.body_too_slow(0.0, body(0))
    assert not timeouts.body_too_slow(100.0, body(0, is_full=True))
