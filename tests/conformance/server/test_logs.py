"""The log: one line per change of life, no payload, no secret."""

from __future__ import annotations

import json

import pytest

from tests.support.clients.acp import AGENT

PAYLOAD = "payload-that-must-stay-private"


def drive(server) -> None:
    acp = server.acp
    server_id = acp.start("log-id")
    acp.call(server_id, "test/echo", {"text": PAYLOAD})
    acp.call(server_id, "test/garbage", {"text": f"noise {PAYLOAD}"})
    acp.notify(server_id, "test/none", {"text": PAYLOAD})
    acp.post(server_id, ('{"bad ' + PAYLOAD).encode())
    acp.send(server_id, "test/exit", {"code": 3})
    acp.call(server_id, "test/echo", agent=AGENT)
    acp.delete(server_id)
    server.client.get("/v1/health", authorized=False, headers={"authorization": "Bearer wrong-" + PAYLOAD})
    server.client.get(f"/v1/health?token={server.token}")


@pytest.mark.clause("promise-J", "logs-life-cycle")
@pytest.mark.parametrize("level", ["info", "debug"])
def test_neither_payloads_nor_the_token_are_logged(start_server, level: str) -> None:
    settings = {
        "SANDBOX_AGENT_LOG_LEVEL": level,
        "SANDBOX_AGENT_LOG_HTTP": "1",
        "SANDBOX_AGENT_LOG_STDOUT": "1",
    }
    server = start_server(settings=settings)
    drive(server)
    assert PAYLOAD not in server.log()
    assert server.token not in server.log()


@pytest.mark.clause("logs-life-cycle")
def test_life_cycle_changes_are_logged_once_each(start_server) -> None:
    server = start_server(settings={"SANDBOX_AGENT_LOG_STDOUT": "1"})
    drive(server)
    lines = [line for line in server.log().splitlines() if "log-id" in line]
    assert 3 <= len(lines) <= 12, lines


@pytest.mark.clause("logs-life-cycle")
@pytest.mark.ours
def test_json_logs_are_one_json_object_a_line(start_server) -> None:
    server = start_server(settings={"SANDBOX_AGENT_LOG_FORMAT": "json"})
    drive(server)
    rows = [json.loads(line) for line in server.log().splitlines()]
    assert rows
    assert all(isinstance(row, dict) for row in rows)


def test_requests_are_not_logged_by_default(start_server) -> None:
    server = start_server(settings={"SANDBOX_AGENT_LOG_STDOUT": "1"})
    before = len(server.log())
    for _ in range(50):
        server.client.get("/v1/health")
    assert len(server.log()) - before < 200


@pytest.mark.own_server("uvicorn has its own log of requests")
@pytest.mark.ours
def test_request_lines_can_be_switched_on(start_server) -> None:
    server = start_server(settings={"SANDBOX_AGENT_LOG_HTTP": "1"})
    before = server.log().count("/v1/health")
    for _ in range(5):
        server.client.get("/v1/health")
    assert server.log().count("/v1/health") - before >= 5


@pytest.mark.ours
def test_the_log_can_go_to_a_directory(start_server, tmp_path) -> None:
    server = start_server(settings={"SANDBOX_AGENT_LOG_DIR": str(tmp_path / "logs")})
    server.acp.start("log-id")
    written = "".join(path.read_text() for path in (tmp_path / "logs").iterdir())
    assert "log-id" in written


def test_a_control_character_in_an_id_cannot_forge_a_log_line(start_server) -> None:
    server = start_server(settings={"SANDBOX_AGENT_LOG_STDOUT": "1"})
    server.acp.start("evil\nlevel=error forged")
    assert not any(line.startswith("level=error forged") for line in server.log().splitlines())
