from __future__ import annotations

from sandbox_agent.bridge.silence_timeout import SilenceTimeout

HOUR = 3600.0


def clock() -> SilenceTimeout:
    return SilenceTimeout(now=0.0, first_line_limit_s=120.0, limit_s=1800.0)


def test_the_first_line_changes_the_limit() -> None:
    silence = clock()
    assert silence.limit_s == 120.0
    silence.line(5.0)
    assert silence.limit_s == 1800.0


def test_silence_counts_from_the_call_or_the_last_line_whichever_is_later() -> None:
    silence = clock()
    sent = silence.active(10.0)
    assert silence.silence(sent, 30.0) == 20.0
    silence.line(40.0)
    assert silence.silence(sent, 45.0) == 5.0
    assert silence.silence(silence.active(44.0), 45.0) == 1.0


def test_time_stands_still_while_a_question_of_the_agent_is_open() -> None:
    silence = clock()
    sent = silence.active(0.0)
    silence.asked(b"1", 10.0)
    silence.asked(b"2", 20.0)
    silence.answered(b"1", 100.0)
    assert silence.silence(sent, 1000.0) == 10.0
    silence.answered(b"2", 1000.0)
    assert silence.silence(sent, 1005.0) == 15.0
    silence.answered(b"2", 1006.0)
    assert silence.silence(sent, 1007.0) == 17.0


def test_an_open_question_stops_the_clock_for_a_day_at_most() -> None:
    silence = clock()
    sent = silence.active(0.0)
    silence.asked(b"1", 10.0)
    assert silence.silence(sent, 10.0 + 24 * HOUR) == 10.0
    assert silence.silence(sent, 10.0 + 25 * HOUR) == 10.0 + HOUR
    silence.asked(b"2", 10.0 + 25 * HOUR)
    assert silence.silence(sent, 10.0 + 30 * HOUR) == 10.0 + HOUR
