from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sandbox_agent.bridge.eventlog import time_marks
from sandbox_agent.bridge.eventlog.time_marks import TimeMarks

MS = 1_000_000


def test_events_within_ten_milliseconds_share_a_mark() -> None:
    marks = TimeMarks(1)
    marks.published(3, 100 * MS)
    marks.published(5, 104 * MS)
    marks.published(9, 150 * MS)
    assert list(marks.between(1, 9)) == [(5, 100), (9, 150)]
    assert list(marks.between(4, 5)) == [(5, 100)]
    assert list(marks.between(6, 7)) == [(7, 150)]
    assert list(marks.between(10, 12)) == []


def test_a_clock_that_goes_back_makes_a_new_mark() -> None:
    marks = TimeMarks(1)
    marks.published(1, 100 * MS)
    marks.published(2, 50 * MS)
    assert list(marks.between(1, 2)) == [(1, 100), (2, 50)]


def test_the_time_of_events_whose_mark_is_dropped_is_unknown() -> None:
    marks = TimeMarks(1)
    for number in range(1, time_marks._MAX_MARKS + 2):
        marks.published(number, number * 10 * MS)
    quarter = time_marks._MAX_MARKS // 4
    assert list(marks.between(1, quarter + 2)) == [
        (quarter, None),
        (quarter + 1, (quarter + 1) * 10),
        (quarter + 2, (quarter + 2) * 10),
    ]


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 40)), min_size=1, max_size=30), st.data())
def test_every_event_has_the_time_of_its_batch_to_ten_milliseconds(
    batches: list[tuple[int, int]], data: st.DataObject
) -> None:
    marks, last, now = TimeMarks(1), 0, 1000
    times: list[int] = []
    for count, pause in batches:
        last, now = last + count, now + pause
        times += [now] * count
        marks.published(last, now * MS)
    first = data.draw(st.integers(1, last))
    end = data.draw(st.integers(first, last))
    found: list[int | None] = []
    for number, time in marks.between(first, end):
        found += [time] * (number - first + 1 - len(found))
    assert len(found) == end - first + 1
    assert all(
        time is not None and 0 <= real - time < 10
        for time, real in zip(found, times[first - 1 : end], strict=True)
    )
