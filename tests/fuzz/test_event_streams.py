"""The server's encoder and the SDK's decoder of event streams understand each other, however bytes arrive."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_agent.bridge.eventlog import sse_frames as log_frames
from sandbox_agent.bridge.eventlog.cursor import Gap
from sandbox_agent.http import sse
from sandbox_agent.sdk.transport.streams.sse import FrameDecoder
from tests.fuzz.effort import FUZZ

lines = st.lists(
    st.one_of(
        st.dictionaries(st.text(max_size=5), st.text(max_size=40), max_size=3).map(
            lambda v: json.dumps(v).encode()
        ),
        st.sampled_from(
            [b'{"a":\r1}', b"[]", b'":"', b"{" + b" " * 3000 + b"}", '"é\u2028☃"'.encode(), b"data: x"]
        ),
    ),
    min_size=1,
    max_size=8,
)


@pytest.mark.clause("fuzz-sse")
@FUZZ
@given(lines, st.integers(1, 10**12), st.lists(st.integers(1, 200), max_size=30), st.booleans())
def test_however_a_stream_is_cut_the_same_events_come_out(
    texts: list[bytes], first: int, cuts: list[int], with_gap: bool
) -> None:
    wire = sse.HEARTBEAT + b"".join(log_frames.pieces_of([log_frames.encode(first, texts)]))
    if with_gap:
        wire = sse.gap(Gap(first, first + 1)) + wire + sse.STOPPING
    decoder, frames, at = FrameDecoder(), [], 0
    for size in [*cuts, len(wire)]:
        frames += decoder.feed(wire[at : at + size])
        at += size
    messages = [frame for frame in frames if frame.event == "message"]
    assert [frame.data for frame in messages] == [text.replace(b"\r", b" ") for text in texts]
    assert [frame.id for frame in messages] == [str(first + n) for n in range(len(texts))]
    assert sum(frame.event == "gap" for frame in frames) == with_gap
    assert not any(frame.id for frame in frames if frame.event != "message")
