"""Parts hold whatever an agent has written: no row makes the batch fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox_agent.rollouts.output.output_directory import OutputDirectory, read_rows
from sandbox_agent.rollouts.result import Result

pytest.importorskip("pyarrow")


@pytest.mark.clause("rollouts-batch")
async def test_odd_text_and_numbers_of_an_agent_are_stored_as_far_as_parquet_can_have_them(
    tmp_path: Path,
) -> None:
    half, whole = "cut \ud83d", "\ud83d\ude00"
    with OutputDirectory(tmp_path) as output:
        await output.add(Result("a", text=half, error=half, outputs={half: whole, "nul": "\0"}))
        await output.add(Result("b", input_tokens=10**30, total_tokens=-(2**63), cost_usd=float("inf")))
    assert list((tmp_path / "parts").glob("part-*.parquet")), "the rows are in a part"
    first, second = read_rows(tmp_path)
    assert (first["text"], first["error"]) == ("cut \ufffd", "cut \ufffd")
    assert first["outputs"] == {"cut \ufffd": "\U0001f600", "nul": "\0"}
    assert second["input_tokens"] is None
