"""Conditional requests and byte ranges (RFC 9110), as far as files need them."""

from __future__ import annotations

import re

from sandbox_agent.errors import RangeNotSatisfiable

_RANGE = re.compile(r"(\d*)-(\d*)", re.ASCII)
# Python refuses to read numbers of thousands of digits; any number this long is beyond the end of a file.
_MAX_DIGITS = 19


def etag_listed(header: str, etag: str | None) -> bool:
    """Whether an If-Match or If-None-Match header names this ETag; None is a file that does not exist."""
    if etag is None:
        return False
    if header.strip() == "*":
        return True
    return any(listed.strip().removeprefix("W/") == etag for listed in header.split(","))


def requested_range(header: str | None, size: int) -> tuple[int, int] | None:
    """The one byte range asked for as (first, end), None for the whole file. Other units are ignored.

    Raises:
        RangeNotSatisfiable: beyond the end, several ranges, or not a range at all.
    """
    unit, equals, ranges = (header or "").partition("=")
    if not equals or unit.strip().lower() != "bytes":
        return None
    found = _RANGE.fullmatch(ranges.strip())
    if found is None or found[0] == "-":
        raise RangeNotSatisfiable(_printable(header), size)
    if found[1]:
        first = _number(found[1])
        end = min(_number(found[2]) + 1, size) if found[2] else size
    else:
        first, end = max(size - _number(found[2]), 0), size
    if first >= end:
        raise RangeNotSatisfiable(_printable(header), size)
    return first, end


def _number(digits: str) -> int:
    significant = digits.lstrip("0")
    return int(significant or "0") if len(significant) <= _MAX_DIGITS else 10**_MAX_DIGITS


def _printable(header: str | None) -> str:
    return (header or "")[:200]
