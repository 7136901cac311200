from __future__ import annotations

import pytest

from sandbox_agent.bridge.jsonrpc.message_id import id_key


@pytest.mark.parametrize(
    "same", [("1", "1"), ('"a"', '"\\u0061"'), ("1.0", "1.00"), ("1.0", "10e-1"), ("-0", "0")]
)
def test_spellings_of_one_value_are_one_id(same: tuple[str, str]) -> None:
    assert id_key(same[0].encode()) == id_key(same[1].encode())


@pytest.mark.clause("security-H2")
@pytest.mark.parametrize(
    "number", ["1e1000000", "-1E+999999999", "1e-1000000", "1e" + "9" * 400, "0e1000000"]
)
@pytest.mark.parametrize("text", ["{}", "[{}]", '{{"a":{}}}'])
def test_numbers_of_any_size_are_ids(number: str, text: str) -> None:
    raw = text.format(number).encode()
    assert id_key(raw) == id_key(raw)


def test_values_of_other_types_are_other_ids() -> None:
    spellings = [
        "1",
        "1.0",
        '"1"',
        "true",
        "false",
        "null",
        '"null"',
        "[1]",
        '["1"]',
        "[1.0]",
        '{"a":1}',
        '""',
    ]
    spellings += ["9" * 5000, "9" * 4999, "1e400", "1e401", '"\\ud800"', '"f1"', "2", "-2"]
    assert len({id_key(text.encode()) for text in spellings}) == len(spellings)
