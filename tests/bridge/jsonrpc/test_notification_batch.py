"""Blocks of many notifications: taken as a whole only where that is the same as line by line."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sandbox_agent.bridge.eventlog import sse_frames
from sandbox_agent.bridge.jsonrpc import envelope, notification_batch
from sandbox_agent.bridge.stdio.split_lines import split_lines

LINE = b'{"jsonrpc":"2.0","method":"session/update","params":{"text":"%s"}}\n'


def flood(texts: list[bytes]) -> bytes:
    return b"".join(LINE % text for text in texts)


@pytest.fixture(scope="module", autouse=True)
def msgspec_is_loaded() -> None:
    envelope.load_msgspec()


MANY = flood([b"x" * 100] * 50)


def test_a_flood_becomes_the_frames_that_its_lines_would_become() -> None:
    block = flood([b"%d of 100%% %s \\u00e9 \xc3\xa9" % (n, b"y" * (n % 90)) for n in range(100)])
    for first in (7, 9_898, 9_899, 9_900, 9_999, 10_000, 19_899, 19_900, 19_950, 123_456_789, 99_999_990):
        assert notification_batch.encode(first, block) == (sse_frames.encode(first, split_lines(block)), 100)


@pytest.mark.parametrize("raw_id", [b"1", b"0", b"-1", b"1.5", b"null", b'""', b'"a"', b"true", b"[]", b"{}"])
@pytest.mark.parametrize("key", [b'"id"', b'"\\u0069d"'])
def test_a_line_with_an_id_is_never_passed_over(key: bytes, raw_id: bytes) -> None:
    odd = LINE[:-2] % b"x" + b"," + key + b":" + raw_id + b"}\n"
    assert envelope.peek_thoroughly(odd.rstrip(b"\n"))[1]
    assert notification_batch.encode(1, MANY + odd + MANY) is None


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param(LINE.replace(b'","', b'",\n"') % b"x", id="an object over two lines"),
        pytest.param(LINE[:-1] % b"x" + LINE % b"y", id="two objects on a line"),
        pytest.param(LINE[:-1] % b"x" + LINE % b"y" + b'{"jsonrpc":"2.0","method":\n"a"}\n', id="both"),
        pytest.param(LINE[:-1] % b"x" + LINE % b"y" + b"\n", id="two on a line and an empty line"),
        pytest.param(b'{"jsonrpc":"2.0","method":"a","b":[{}\n{}]}\n', id="lines inside a list"),
        pytest.param(LINE % b"}\n" + LINE[2:], id="a line end in a string"),
        pytest.param(LINE % b"\xff", id="no UTF-8"),
        pytest.param(LINE % b"\\ud800", id="a lone surrogate"),
        pytest.param(LINE[:-2] % b"x" + b',"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n", id="very deep"),
        pytest.param(LINE[:-1] % b"x" + b"\r\n", id="CR LF"),
        pytest.param(LINE[:-2] % b"x" + b",}\n", id="a comma too many"),
        pytest.param(b"[1]\n", id="no object"),
        pytest.param(b"\n", id="an empty line"),
        pytest.param(b'{"method":"other"}\n', id="another beginning"),
    ],
)
def test_a_block_with_anything_unusual_goes_the_ordinary_way(odd: bytes) -> None:
    for block in (odd + MANY, MANY + odd, MANY + odd + MANY):
        assert notification_batch.encode(1, block) is None


def test_a_few_lines_and_long_lines_go_the_ordinary_way() -> None:
    assert notification_batch.encode(1, LINE % b"x") is None
    assert notification_batch.encode(1, flood([b"x" * 5000] * 50)) is None


PIECES = [
    b"{",
    b"}",
    b"\n",
    b"}\n",
    b"\n{",
    b'"',
    b",",
    b"[",
    b"]",
    b'"id":1',
    b'"a":1',
    LINE[:-1] % b"z",
    LINE % b"z",
]


@given(st.lists(st.sampled_from(PIECES), max_size=12))
@example([LINE % b"z"])
def test_what_is_taken_as_a_whole_is_one_object_a_line_without_an_id(pieces: list[bytes]) -> None:
    block = MANY + b"".join(pieces)
    block = block if block.endswith(b"\n") else block + b"\n"
    framed = notification_batch.encode(1, block)
    if framed is None:
        return
    lines = split_lines(block)
    assert framed == (sse_frames.encode(1, lines), len(lines))
    for line in lines:
        seen = envelope.peek_thoroughly(line)
        assert seen[0]
        assert not seen[1]
