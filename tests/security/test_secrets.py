"""Where a token or key must not appear: logs, problems, listings, command lines, environments of others."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from tests.support.processes import wait_until
from tests.support.server_process import ServerProcess, place_launcher
from tests.support.token_flags import started

TOKEN = "token-that-must-not-appear-4711"
KEY = "sk-key-that-must-not-appear-4712"


@pytest.mark.clause("security-secrets")
def test_token_and_keys_are_nowhere_but_where_they_belong(start_server) -> None:
    server = started(
        start_server,
        ["--log-level", "debug"],
        {"SANDBOX_AGENT_TOKEN": TOKEN, "ANTHROPIC_API_KEY": KEY, "SANDBOX_AGENT_LOG_HTTP": "1"},
    )
    server.client.token = TOKEN
    server.ready()
    _exercise(server)
    acp = server.acp
    seen = b"".join(
        server.client.get(path).body
        for path in (
            "/v1/acp",
            "/v1/agents?config=true",
            "/v1/agents/claude",
            "/openapi.json",
            "/docs",
            "/",
        )
    )
    assert TOKEN.encode() not in seen and KEY.encode() not in seen
    for pid in server.marked_processes():
        line = Path(f"/proc/{pid}/cmdline").read_bytes()
        assert TOKEN.encode() not in line and KEY.encode() not in line, line
        if pid != server.pid:
            assert TOKEN.encode() not in Path(f"/proc/{pid}/environ").read_bytes(), line
    assert TOKEN not in json.dumps(acp.call("x", "test/info"))
    assert TOKEN not in server.log() and KEY not in server.log()


def _exercise(server: ServerProcess) -> None:
    """Successes and failures of every kind, each with the secrets in the request."""
    acp = server.acp
    acp.start("x")
    place_launcher(server.data_home, "pi", "#!/no/such/interpreter\n")
    env = {"x-sandbox-agent-env": json.dumps({"GIVEN_KEY": KEY})}
    answers = [
        acp.send("y", "test/echo", agent="pi", headers=env),
        acp.send("z", "test/exit", {"code": 3, "stderr": "went wrong"}, agent="amp", headers=env),
        server.client.get(f"/v1/health?token={TOKEN}", authorized=False),
        server.client.get("/v1/health", headers={"authorization": f"Basic {TOKEN}"}, authorized=False),
        server.client.get("/v1/fs/file?path=missing"),
        server.client.get("/v1/nothing"),
        acp.post("x", b"{"),
    ]
    for answer in answers:
        assert answer.status >= 400
        assert TOKEN.encode() not in answer.body and KEY.encode() not in answer.body, answer.body


@pytest.mark.clause("security-secrets")
def test_a_token_in_a_query_is_not_logged_with_the_request(start_server) -> None:
    server: ServerProcess = start_server(settings={"SANDBOX_AGENT_LOG_HTTP": "1"})
    server.client.get("/v1/health?access_token=" + TOKEN)
    wait_until(lambda: "/v1/health" in server.log(), 5, "a request line")
    assert TOKEN not in server.log()


@pytest.mark.clause("security-secrets")
@pytest.mark.parametrize("level", ["info", "debug"])
def test_what_agents_and_clients_say_is_not_logged(start_server, level: str) -> None:
    server: ServerProcess = start_server(arguments=["--log-level", level])
    server_id = server.acp.start()
    server.acp.call(server_id, "test/echo", {"secret": KEY})
    server.acp.call(server_id, "test/garbage", {"text": KEY})
    server.acp.call(server_id, "test/stderr", {"text": KEY + "\n"})
    assert server.acp.delete(server_id).status == 204
    assert KEY not in server.log()


@pytest.mark.clause("security-secrets")
def test_what_the_server_keeps_on_disk_is_for_its_user_only(start_server, tmp_path: Path) -> None:
    """Also with a umask that would let all users read it."""
    before = os.umask(0)
    try:
        server: ServerProcess = start_server(
            arguments=["--replay-max-events", "16"],
            settings={"SANDBOX_AGENT_LOG_DIR": str(tmp_path / "logs")},
        )
    finally:
        os.umask(before)
    server_id = server.acp.start()
    server.acp.call(server_id, "test/flood", {"count": 2000, "size": 100})
    spill = server.data_home / "sandbox-agent" / "spill"
    kept = lambda: [p for p in spill.rglob("*") if p.is_file() and p.name != "lock"]  # noqa: E731
    wait_until(kept, 5, "a spill file")
    for path in [spill, *spill.rglob("*"), tmp_path / "logs", *(tmp_path / "logs").iterdir()]:
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode & 0o077 == 0, (path, oct(mode))


@pytest.mark.clause("security-secrets")
def test_nothing_of_a_closed_instance_stays_on_disk(start_server) -> None:
    server: ServerProcess = start_server(arguments=["--replay-max-events", "16"])
    server_id = server.acp.start()
    server.acp.call(server_id, "test/flood", {"count": 2000, "size": 100})
    spill = server.data_home / "sandbox-agent" / "spill"
    kept = lambda: [p for p in spill.rglob("*") if p.is_file() and p.name != "lock"]  # noqa: E731
    wait_until(kept, 5, "a spill file")
    assert server.acp.delete(server_id).status == 204
    wait_until(lambda: not kept(), 5, "an empty spill directory")
