"""Which instance a POST means, and how the first one starts its process."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.conftest import Target
from tests.support.clients.acp import AGENT, Acp, message
from tests.support.problems import assert_problem
from tests.support.processes import is_alive
from tests.support.server_process import place_launcher, scripted_launcher

ECHO = message("test/echo", request_id=1)


@pytest.mark.clause("spec1-3.2-first-post-needs-agent", "decision-1")
def test_first_post_without_agent_is_400(acp: Acp) -> None:
    server_id = acp.new_id()
    problem = assert_problem(acp.post(server_id, ECHO), 400, "invalid_request", "Invalid Request")
    assert problem["detail"] == (
        f"invalid request: missing required 'agent' query parameter for first POST to /v1/acp/{server_id}"
    )
    assert acp.entry(server_id) is None


@pytest.mark.clause("spec1-3.2-validate-agent", "spec1-3.6-unknown-agent")
@pytest.mark.parametrize("agent", ["nobody", "", "AMP", "Claude", "amp%20", "..%2Famp", "amp-acp"])
def test_an_unknown_agent_is_400_and_named(acp: Acp, agent: str) -> None:
    server_id = acp.new_id()
    problem = assert_problem(
        acp.post(server_id, ECHO, agent=agent), 400, "unsupported_agent", "Unsupported Agent"
    )
    named = agent.replace("%20", " ").replace("%2F", "/")
    assert problem["detail"] == f"unsupported agent: {named}"
    assert problem["agent"] == named
    assert acp.entry(server_id) is None


@pytest.mark.clause("spec1-3.1-post", "spec1-3.2-forward", "spec1-3.2-lazy-creation")
def test_first_post_with_agent_starts_and_forwards_in_one_go(acp: Acp) -> None:
    server_id = acp.new_id()
    answer = acp.post(server_id, ECHO, agent=AGENT)
    assert answer.status == 200
    assert answer.header("content-type") == "application/json"
    assert answer.header("content-length") == str(len(answer.body))
    row = acp.entry(server_id)
    assert row is not None and row["agent"] == AGENT


@pytest.mark.clause("spec1-3.2-forward")
def test_a_first_notification_starts_the_agent_too(acp: Acp) -> None:
    server_id = acp.new_id()
    answer = acp.post(server_id, message("test/ask_client", {"id": "boot"}), agent=AGENT)
    assert (answer.status, answer.body) == (202, b"")
    with acp.stream(server_id) as stream:
        assert b'"boot"' in stream.next_message().data


@pytest.mark.clause("spec1-3.2-agent-optional-later")
def test_later_posts_need_no_agent_and_may_name_the_same(acp: Acp, server_id: str) -> None:
    first = acp.call(server_id, "test/info")
    assert acp.call(server_id, "test/info", agent=AGENT)["pid"] == first["pid"]


@pytest.mark.clause("spec1-3.2-mismatch", "spec1-3.6-mismatch")
def test_another_agent_on_a_living_instance_is_409(acp: Acp, server_id: str) -> None:
    problem = assert_problem(acp.post(server_id, ECHO, agent="pi"), 409, "conflict", "Conflict")
    said = f"server '{server_id}' already exists for agent '{AGENT}'; requested 'pi'"
    assert problem["detail"] == f"conflict: {said}"
    assert problem["details"] == {"message": said}


@pytest.mark.clause("spec1-2-metadata-contract-removed", "decision-37")
def test_meta_never_chooses_the_agent(acp: Acp) -> None:
    body = {
        "id": 1,
        "method": "test/echo",
        "params": {"_meta": {"sandboxagent.dev": {"agent": AGENT}}, "agent": AGENT},
    }
    assert_problem(acp.post(acp.new_id(), body), 400, "invalid_request")


@pytest.mark.clause("spec1-3.2-lazy-start", "spec1-3.5-one-process-per-id", "promise-I")
def test_fifty_concurrent_first_posts_start_one_process(acp: Acp) -> None:
    server_id = acp.new_id()
    calls = [
        acp.in_background(acp.call, server_id, "test/info", agent=AGENT, request_id=number, timeout=20)
        for number in range(50)
    ]
    assert len({call.result(20)["pid"] for call in calls}) == 1
    assert [row["serverId"] for row in acp.list()].count(server_id) == 1


@pytest.mark.clause("spec1-3.2-mismatch")
def test_in_a_race_of_two_agents_one_wins_and_the_other_gets_409(acp: Acp) -> None:
    server_id = acp.new_id()
    calls = [
        acp.in_background(
            acp.send, server_id, "test/echo", request_id=number, agent=(AGENT, "pi")[number % 2]
        )
        for number in range(20)
    ]
    answers = [call.result(10) for call in calls]
    assert sorted(answer.status for answer in answers) == [200] * 10 + [409] * 10
    assert len({answer.json()["result"]["pid"] for answer in answers if answer.status == 200}) == 1


@pytest.mark.clause("spec1-3.6-unknown-id", "decision-2")
def test_post_without_agent_to_a_closed_id_is_404(acp: Acp, server_id: str) -> None:
    assert acp.delete(server_id).status == 204
    problem = assert_problem(acp.post(server_id, ECHO), 404, "session_not_found", "Session Not Found")
    assert problem["detail"] == f"session not found: {server_id}"
    assert problem["sessionId"] == server_id


@pytest.mark.clause("decision-2")
@pytest.mark.parametrize("agent", [AGENT, "pi"])
def test_a_closed_id_starts_again_with_any_agent(acp: Acp, server_id: str, agent: str) -> None:
    old = acp.call(server_id, "test/info")["pid"]
    assert acp.delete(server_id).status == 204
    assert acp.call(server_id, "test/info", agent=agent)["pid"] != old
    row = acp.entry(server_id)
    assert row is not None and row["agent"] == agent


def test_an_unknown_agent_on_a_closed_id_is_400(acp: Acp, server_id: str) -> None:
    acp.delete(server_id)
    assert_problem(acp.post(server_id, ECHO, agent="nobody"), 400, "unsupported_agent")


@pytest.fixture
def broken_launcher(target: Target) -> object:
    """Writes a launcher for the agent `cursor`, which no other test uses."""
    launchers: list[Path] = []

    def place(script: str, mode: int = 0o755) -> None:
        launcher = place_launcher(target.data_home, "cursor", script)
        launcher.chmod(mode)
        launchers.append(launcher)

    yield place
    for launcher in launchers:
        launcher.unlink(missing_ok=True)


@pytest.mark.clause("spec1-3.6-subprocess")
def test_a_launcher_without_an_existing_interpreter_is_502_and_leaves_nothing(
    acp: Acp, broken_launcher
) -> None:
    broken_launcher("#!/does/not/exist\n")
    server_id = acp.new_id()
    problem = assert_problem(acp.post(server_id, ECHO, agent="cursor"), 502, "stream_error", "Stream Error")
    assert problem["detail"].startswith("stream error: failed to start agent process: ")
    assert acp.entry(server_id) is None
    assert_problem(acp.post(server_id, ECHO), 400, "invalid_request")


@pytest.mark.clause("spec1-3.6-subprocess")
def test_a_launcher_that_is_no_program_is_502(acp: Acp, broken_launcher) -> None:
    broken_launcher("\0\0\0\0 no program at all")
    problem = assert_problem(acp.post(acp.new_id(), ECHO, agent="cursor"), 502, "stream_error")
    assert problem["detail"].startswith("stream error: failed to start agent process: ")


@pytest.mark.clause("spec1-3.6-subprocess")
def test_a_launcher_that_may_not_be_executed_is_502(acp: Acp, broken_launcher) -> None:
    broken_launcher("#!/bin/sh\nexec cat\n", mode=0o644)
    problem = assert_problem(acp.post(acp.new_id(), ECHO, agent="cursor"), 502, "stream_error")
    assert problem["detail"].startswith("stream error: failed to start agent process: ")


def test_a_failed_restart_of_a_closed_id_leaves_it_closed(acp: Acp, server_id: str, broken_launcher) -> None:
    acp.delete(server_id)
    broken_launcher("#!/does/not/exist\n")
    assert acp.post(server_id, ECHO, agent="cursor").status == 502
    assert_problem(acp.post(server_id, ECHO), 404, "session_not_found")
    assert acp.delete(server_id).status == 204


def test_a_failed_restart_of_an_exited_id_leaves_it_exited(acp: Acp, broken_launcher) -> None:
    broken_launcher(scripted_launcher())
    server_id = acp.start(agent="cursor")
    first = acp.send(server_id, "test/exit", {"code": 8})
    broken_launcher("#!/does/not/exist\n")
    assert_problem(acp.post(server_id, ECHO, agent="cursor"), 502, "stream_error")
    row = acp.entry(server_id)
    assert row is not None
    assert (row["status"], row["exitCode"]) == ("exited", 8)
    assert acp.post(server_id, ECHO).body == first.body
    broken_launcher(scripted_launcher())
    assert acp.post(server_id, ECHO, agent="cursor").status == 200


@pytest.mark.clause("spec1-3.2-lazy-install")
def test_an_agent_that_may_not_be_installed_is_404_and_leaves_nothing(start_server) -> None:
    server = start_server(settings={"SANDBOX_AGENT_REQUIRE_PREINSTALL": "true", "PATH": "/usr/bin:/bin"})
    server_id = server.acp.new_id()
    answer = server.acp.post(server_id, ECHO, agent="codex")
    problem = assert_problem(answer, 404, "agent_not_installed", "Agent Not Installed")
    assert problem["detail"] == "agent not installed: codex"
    assert problem["agent"] == "codex"
    assert server.acp.entry(server_id) is None


@pytest.mark.clause(
    "spec1-1-server-id-is-the-only-identity",
    "spec1-3.5-isolation",
    "spec1-3.5-many-ids-per-agent",
    "spec1-8-isolation",
)
def test_two_ids_of_one_agent_are_two_processes_that_know_nothing_of_each_other(acp: Acp) -> None:
    first, second = acp.start(), acp.start()
    one, two = acp.call(first, "test/info"), acp.call(second, "test/info")
    assert one["pid"] != two["pid"]
    held = acp.in_background(acp.send, first, "test/hold", request_id=7)
    acp.wait_until_pending(first, 1)
    assert acp.send(second, "test/echo", request_id=7).status == 200
    acp.notify(second, "test/release")
    acp.notify(first, "test/release")
    assert held.result(8).json() == {"jsonrpc": "2.0", "id": 7, "result": {"released": True}}
    assert acp.delete(first).status == 204
    assert acp.call(second, "test/echo")["pid"] == two["pid"]
    assert is_alive(two)
    with acp.stream(second) as stream:
        assert [event.number for event in stream.take(4)] == [1, 2, 3, 4]


IDS = {
    "a blank": " ",
    "a slash": "a/b",
    "a percent sign": "50%",
    "unicode": "grüße-日本-🎉",
    "control characters": "a\x00b\nc\r\x7f",
    "dots": "..",
    "one dot": ".",
    "1024 bytes": "x" * 1024,
    "1024 bytes of unicode": "é" * 512,
    "a query character": "a?b=c&d#e",
    "a quote": 'it\'s "quoted"\\',
}


@pytest.mark.clause("spec1-1-server-id-is-the-only-identity", "http-server-id")
@pytest.mark.parametrize("name", IDS)
def test_any_text_is_a_legal_server_id(acp: Acp, name: str) -> None:
    server_id = IDS[name]
    pid = acp.call(server_id, "test/info", agent=AGENT)["pid"]
    assert acp.call(server_id, "test/info")["pid"] == pid
    assert acp.entry(server_id) is not None
    with acp.stream(server_id) as stream:
        assert stream.next_message().number is not None


@pytest.mark.clause("http-server-id")
def test_a_stray_percent_sign_is_literal(acp: Acp) -> None:
    raw = "/v1/acp/50%zz%"
    body = message("test/echo", request_id=1)
    headers = {"content-type": "application/json"}
    assert acp.client.request("POST", f"{raw}?agent={AGENT}", headers=headers, body=body).status == 200
    assert acp.entry("50%zz%") is not None


@pytest.mark.clause("http-server-id")
def test_percent_decoding_happens_once(acp: Acp) -> None:
    body = message("test/echo", request_id=1)
    headers = {"content-type": "application/json"}
    assert (
        acp.client.request("POST", f"/v1/acp/a%252Fb?agent={AGENT}", headers=headers, body=body).status == 200
    )
    assert acp.entry("a%2Fb") is not None


@pytest.mark.clause("http-server-id")
@pytest.mark.parametrize("segment", ["%ff", "a%C3%28", "%ED%A0%80"])
@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
def test_an_id_that_is_not_utf8_is_400(acp: Acp, segment: str, method: str) -> None:
    body = ECHO if method == "POST" else None
    headers = {"content-type": "application/json"} if body else None
    answer = acp.client.request(method, f"/v1/acp/{segment}?agent={AGENT}", headers=headers, body=body)
    assert_problem(answer, 400, "invalid_request")


@pytest.mark.clause("http-server-id")
@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
def test_an_id_longer_than_1024_bytes_is_400(acp: Acp, method: str) -> None:
    body = ECHO if method == "POST" else None
    headers = {"content-type": "application/json"} if body else None
    for segment in ("x" * 1025, "%C3%A9" * 513):
        answer = acp.client.request(method, f"/v1/acp/{segment}?agent={AGENT}", headers=headers, body=body)
        assert_problem(answer, 400, "invalid_request")
