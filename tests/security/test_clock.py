"""A wall clock that jumps to absurd dates, by Debian's faketime: every request is answered all the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.server_process import ServerProcess

LIBRARY = next(map(str, Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1")), "")


@pytest.mark.clause("security-H1", "promise-Q")
@pytest.mark.faketime
@pytest.mark.parametrize(
    "moment", ["@2262-04-12 00:00:00", "@9999-12-31 23:59:59", "@1902-01-01 00:00:00", "-40y"]
)
@pytest.mark.parametrize("asyncio_is_loaded", [True, False], ids=["warm", "cold"])
def test_the_server_works_at_any_date(
    start_server, tmp_path: Path, moment: str, asyncio_is_loaded: bool
) -> None:
    """Beyond 2262 asyncio itself cannot be loaded: what needs it is a 500 then, messages are not."""
    clock = tmp_path / "clock"
    clock.write_text("+0\n")
    server: ServerProcess = start_server(
        settings={
            "LD_PRELOAD": LIBRARY,
            "FAKETIME_TIMESTAMP_FILE": str(clock),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "DONT_FAKE_MONOTONIC": "1",
        },
        arguments=["--log-level", "debug"],
    )
    server_id = server.acp.start()
    before = server.client.get("/v1/health").header("date")
    if asyncio_is_loaded:
        assert server.client.get("/v1/agents", timeout=20).status == 200
    clock.write_text(moment + "\n")
    answer = server.client.get("/v1/health")
    assert answer.status == 200 and answer.header("date") != before, "the clock did jump"
    answer = server.client.get("/v1/agents", timeout=20)
    assert answer.status == 200 or (not asyncio_is_loaded and answer.status == 500)
    assert server.client.get("/v1/health", authorized=False).status == 401
    server.acp.call(server_id, "test/echo", timeout=20)
    with server.acp.stream(server_id) as stream:
        stream.next_message()
    if asyncio_is_loaded:
        assert server.client.get("/v1/nowhere").status == 404
        (row,) = server.acp.list()
        assert row["lastActivityMs"] != 0
        assert server.acp.delete(server_id, timeout=20).status == 204
    assert server.process.poll() is None
