"""A body that arrives in pieces of any size costs about its size."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_agent.http.http1.incoming_request import IncomingRequest
from sandbox_agent.http.http1.request_head import UNREADABLE


@given(st.binary(max_size=10), st.lists(st.tuples(st.sampled_from((1, 3, 4096, 4097, 9000)), st.booleans())))
def test_pieces_are_put_together_in_order(first: bytes, steps: list[tuple[int, bool]]) -> None:
    request = IncomingRequest(UNREADABLE, None, first)
    sent, taken = first, b""
    for number, (size, takes) in enumerate(steps):
        piece = bytes([number % 256]) * size
        request.feed(piece)
        sent += piece
        if takes:
            part = request.take_body()
            assert type(part) is bytes
            taken += part
    assert request.size == len(sent) - len(taken)
    assert taken + request.take_body() == sent
    assert (request.received, request.size) == (len(sent), 0)


@pytest.mark.clause("security-M6")
def test_tiny_pieces_cost_what_they_weigh() -> None:
    request = IncomingRequest(UNREADABLE, None)
    tracemalloc.start()
    try:
        for number in range(200_000):
            request.feed(b"%02d" % (number % 100))
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 2 * request.size
