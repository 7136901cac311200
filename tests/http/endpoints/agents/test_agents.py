"""The agent endpoints of a real server: list, show, install, and the first POST that installs."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from sandbox_agent.agents.catalog.agent_spec import CAPABILITIES
from sandbox_agent.agents.catalog.catalog import builtin_ids
from tests.agents.tiny_agent_package import npm_agent, npm_package
from tests.support.processes import wait_until
from tests.support.server_process import ServerProcess

# Answers `initialize` with where and how it runs.
REPORTER = """\
import json, os, sys
for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "exit":
        sys.exit(3)
    result = {"protocolVersion": 1, "cwd": os.getcwd(), "env": dict(os.environ)}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""
SECRET = "sk-very-secret"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server that may install, with agents of its own and no way to the network."""
    directory = tmp_path_factory.mktemp("server")
    reporter = directory / "reporter.py"
    reporter.write_text(REPORTER)
    broken = npm_package(directory / "broken", at_start="console.error('no licence'); process.exit(7);")
    agents = (
        npm_agent(npm_package(directory / "good"))
        + npm_agent(npm_package(directory / "slow"), "slow")
        + npm_agent(broken, "broken")
        + npm_agent(npm_package(directory / "lonely"), "lonely")
        + f'[[agent]]\nid = "reporter"\ncommand = "{sys.executable}"\nargs = ["-S", "{reporter}"]\n'
        + f'[profile.work]\nWORK_KEY = "{SECRET}"\n'
    )
    (directory / "agents.toml").write_text(agents)
    settings = {
        "SANDBOX_AGENT_REQUIRE_PREINSTALL": "0",
        "SANDBOX_AGENT_AGENTS_FILE": str(directory / "agents.toml"),
        "npm_config_registry": "http://127.0.0.1:9",
        "npm_config_cache": str(directory / "npm-cache"),
    }
    with ServerProcess(directory, settings=settings, token=None) as running:
        yield running


@pytest.fixture
def http(server: ServerProcess) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"http://127.0.0.1:{server.port}", timeout=60) as client:
        yield client


def kind(answer: httpx.Response) -> str:
    assert answer.headers["content-type"] == "application/problem+json"
    text: str = answer.json()["type"]
    return text.removeprefix("urn:sandbox-agent:error:")


def initialize(request_id: int = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "method": "initialize", "params": {"protocolVersion": 1}}


def events(answer: httpx.Response) -> list[tuple[str, Any]]:
    assert answer.headers["content-type"] == "text/event-stream"
    frames = [frame for frame in answer.text.split("\n\n") if frame and not frame.startswith(":")]
    parsed = []
    for frame in frames:
        name, data = frame.split("\n")
        parsed.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return parsed


@pytest.mark.clause("spec1-5.1-agents-list")
def test_list_has_every_agent_in_order_with_all_flags(http: httpx.Client) -> None:
    agents = http.get("/v1/agents").json()["agents"]
    assert [agent["id"] for agent in agents] == [
        *builtin_ids(),
        "tiny",
        "slow",
        "broken",
        "lonely",
        "reporter",
    ]
    for agent in agents:
        assert list(agent["capabilities"]) == list(CAPABILITIES)
        assert not {"version", "path", "configOptions", "models", "modes"} & set(agent)


@pytest.mark.clause("spec1-5.1-agents-list")
def test_list_with_config_has_options(http: httpx.Client) -> None:
    agents = {agent["id"]: agent for agent in http.get("/v1/agents?config=true").json()["agents"]}
    assert agents["mock"]["version"] == "builtin"
    modes = next(option for option in agents["mock"]["configOptions"] if option["category"] == "mode")
    assert modes["options"][0] == {"name": "Normal", "value": "normal"}
    assert agents["mock"]["configStatus"] == "known"


@pytest.mark.clause("decision-27")
def test_one_agent_is_the_same_as_in_the_list(http: httpx.Client) -> None:
    listed = {agent["id"]: agent for agent in http.get("/v1/agents").json()["agents"]}
    assert http.get("/v1/agents/cursor").json() == listed["cursor"]


@pytest.mark.clause("decision-27")
@pytest.mark.parametrize("agent", ["unknown", "Claude", "claude%20", "a%2Fb"])
def test_unknown_agent_is_unsupported(http: httpx.Client, agent: str) -> None:
    for answer in (http.get(f"/v1/agents/{agent}"), http.post(f"/v1/agents/{agent}/install", json={})):
        assert (answer.status_code, kind(answer)) == (400, "unsupported_agent")


@pytest.mark.clause("spec1-5.1-agents-list")
@pytest.mark.parametrize("query", ["config=yes", "config=true&config=true", "no_cache=1"])
def test_flag_that_is_none_is_refused(http: httpx.Client, query: str) -> None:
    for path in ("/v1/agents", "/v1/agents/mock"):
        answer = http.get(f"{path}?{query}")
        assert (answer.status_code, kind(answer)) == (400, "invalid_request")


@pytest.mark.clause("spec1-5.1-agents-install")
def test_install_needs_a_json_content_type(http: httpx.Client) -> None:
    answer = http.post("/v1/agents/mock/install", content=b"{}")
    assert (answer.status_code, kind(answer)) == (415, "unsupported_media_type")


@pytest.mark.clause("spec1-5.1-agents-install")
@pytest.mark.parametrize(
    "body", ["", "[]", "{", '{"reinstall": 1}', '{"agentVersion": 2}', '{"agentProcessVersion": "../x"}']
)
def test_install_body_of_the_wrong_shape_is_refused(http: httpx.Client, body: str) -> None:
    answer = http.post("/v1/agents/tiny/install", content=body, headers={"content-type": "application/json"})
    assert (answer.status_code, kind(answer)) == (400, "invalid_request")


@pytest.mark.clause("decision-29")
def test_mock_is_already_installed(http: httpx.Client) -> None:
    answer = http.post("/v1/agents/mock/install", json={"reinstall": None, "unknown": 1})
    assert answer.json() == {"already_installed": True, "artifacts": []}


@pytest.mark.clause("spec1-5.1-agents-install", "decision-29")
def test_install_then_already_installed_then_reinstall(http: httpx.Client, server: ServerProcess) -> None:
    first = http.post("/v1/agents/tiny/install", json={}).json()
    launcher = server.data_home / "sandbox-agent" / "bin" / "agent_processes" / "tiny-acp"
    artifact = {"kind": "agent_process", "path": str(launcher), "source": "fallback"}
    assert first == {"already_installed": False, "artifacts": [artifact]}
    assert http.post("/v1/agents/tiny/install", json={}).json() == {
        "already_installed": True,
        "artifacts": [],
    }
    assert http.post("/v1/agents/tiny/install", json={"reinstall": True}).json() == first
    assert http.get("/v1/agents/tiny").json()["installed"] is True


@pytest.mark.clause("spec1-5.1-agents-install")
def test_failed_install_shows_what_the_agent_said(http: httpx.Client) -> None:
    answer = http.post("/v1/agents/broken/install", json={})
    assert (answer.status_code, kind(answer)) == (500, "install_failed")
    problem = answer.json()
    assert problem["detail"] == "install failed: broken" and problem["agent"] == "broken"
    assert "no licence" in problem["details"]["stderr"]


@pytest.mark.clause("install-progress")
def test_stream_reports_progress_and_then_the_result(http: httpx.Client) -> None:
    headers = {"accept": "text/event-stream"}
    answer = http.post("/v1/agents/tiny/install", json={"reinstall": True}, headers=headers)
    seen = events(answer)
    assert {name for name, _ in seen[:-1]} == {"progress"}
    assert seen[-2][1] == {"step": "done", "message": "tiny is installed", "bytes": 0, "percent": 100}
    assert seen[-1][0] == "result" and seen[-1][1]["already_installed"] is False


@pytest.mark.clause("install-progress")
def test_stream_of_a_failed_install_ends_with_the_problem(http: httpx.Client) -> None:
    answer = http.post("/v1/agents/broken/install", json={}, headers={"accept": "text/event-stream"})
    name, problem = events(answer)[-1]
    assert (name, problem["status"]) == ("error", 500)
    assert problem["type"] == "urn:sandbox-agent:error:install_failed"


@pytest.mark.clause("spec1-3.2-lazy-install")
def test_first_posts_install_once_and_the_agent_answers(http: httpx.Client, server: ServerProcess) -> None:
    with ThreadPoolExecutor(8) as threads:
        posts = [
            threads.submit(http.post, f"/v1/acp/slow-{number % 4}?agent=slow", json=initialize(number))
            for number in range(8)
        ]
        answers = [post.result() for post in posts]
    assert [answer.json()["result"]["protocolVersion"] for answer in answers] == [1] * 8
    builds = server.data_home / "sandbox-agent" / "bin" / "agent_processes" / "slow"
    assert len(list(builds.iterdir())) == 1
    for number in range(4):
        http.delete(f"/v1/acp/slow-{number}")


@pytest.mark.clause("spec1-3.2-lazy-install")
def test_first_post_of_an_agent_that_cannot_be_installed(http: httpx.Client) -> None:
    answer = http.post("/v1/acp/b1?agent=broken", json=initialize())
    assert (answer.status_code, kind(answer)) == (500, "install_failed")
    assert http.get("/v1/acp/b1").status_code == 404


@pytest.mark.clause("agents-instance-settings")
def test_instance_gets_its_directory_and_variables(http: httpx.Client, tmp_path: Path) -> None:
    headers = {"x-sandbox-agent-env": json.dumps({"MY_KEY": SECRET})}
    query = {"agent": "reporter", "cwd": str(tmp_path)}
    answer = http.post("/v1/acp/r1", params=query, json=initialize(), headers=headers)
    result = answer.json()["result"]
    assert result["cwd"] == str(tmp_path) and result["env"]["MY_KEY"] == SECRET
    assert SECRET not in http.get("/v1/acp").text
    http.delete("/v1/acp/r1")


@pytest.mark.clause("agents-instance-settings")
def test_profile_of_the_agents_file_is_used_by_its_name(http: httpx.Client) -> None:
    headers = {"x-sandbox-agent-env": "work"}
    answer = http.post("/v1/acp/r2?agent=reporter", json=initialize(), headers=headers)
    assert answer.json()["result"]["env"]["WORK_KEY"] == SECRET
    http.delete("/v1/acp/r2")


@pytest.mark.clause("agents-instance-settings")
@pytest.mark.parametrize("value", ["nowhere", "{", '{"A": 1}', "{}x"])
def test_variables_that_cannot_be_used_are_refused_without_repeating_them(
    http: httpx.Client, value: str
) -> None:
    headers = {"x-sandbox-agent-env": value.replace("1", f'"{SECRET}", "B": 1')}
    answer = http.post("/v1/acp/r3?agent=reporter", json=initialize(), headers=headers)
    assert (answer.status_code, kind(answer)) == (400, "invalid_request")
    assert SECRET not in answer.text
    assert http.get("/v1/acp/r3").status_code == 404


@pytest.mark.clause("agents-instance-settings")
def test_secrets_of_instances_are_not_in_the_log(http: httpx.Client, server: ServerProcess) -> None:
    headers = {"x-sandbox-agent-env": json.dumps({"MY_KEY": SECRET})}
    http.post("/v1/acp/r4?agent=reporter", json=initialize(), headers=headers)
    http.delete("/v1/acp/r4")
    assert SECRET not in server.log()


@pytest.mark.clause("spec1-5.1-agents-list")
def test_server_status_follows_the_instances(http: httpx.Client) -> None:
    assert "serverStatus" not in http.get("/v1/agents/reporter").json()
    http.post("/v1/acp/s1?agent=reporter", json=initialize())
    running = http.get("/v1/agents/reporter").json()
    assert running["serverStatus"]["status"] == "running" and running["serverStatus"]["uptimeMs"] >= 0
    assert list(running)[-1] == "serverStatus"
    http.post("/v1/acp/s1", json={"jsonrpc": "2.0", "method": "exit"})

    def status() -> str:
        text: str = http.get("/v1/agents/reporter").json()["serverStatus"]["status"]
        return text

    wait_until(lambda: status() == "stopped", 10, "the status of an exited instance")
    http.delete("/v1/acp/s1")
    assert "serverStatus" not in http.get("/v1/agents/reporter").json()


def test_closing_an_instance_while_its_agent_is_installed(http: httpx.Client, server: ServerProcess) -> None:
    """DELETE returns at once; the install continues for the next request."""
    gate = server.home / "gate"
    script = f"sh -c 'while [ ! -e {shlex.quote(str(gate))} ]; do sleep 0.05; done'"
    npm_package(server.home.parent / "good", scripts={"postinstall": script})
    with ThreadPoolExecutor(2) as threads:
        install = threads.submit(http.post, "/v1/agents/tiny/install", json={"reinstall": True})
        folder = server.data_home / "sandbox-agent" / "bin" / "agent_processes"
        (folder / "tiny-acp").unlink(missing_ok=True)
        post = threads.submit(http.post, "/v1/acp/d1?agent=tiny", json=initialize())
        wait_until(lambda: http.get("/v1/acp").json()["servers"], 10, "the starting instance")
        assert http.delete("/v1/acp/d1", timeout=5).status_code == 204
        assert post.result(10).status_code == 502
        gate.touch()
        assert install.result(40).status_code == 200
    assert http.get("/v1/agents/tiny").json()["installed"] is True


@pytest.mark.clause("install-shared")
def test_an_install_goes_on_after_its_instance_is_closed(http: httpx.Client, server: ServerProcess) -> None:
    """Later requests use the installed agent; the closed instance does not come back."""
    gate = server.home / "gate-of-the-last"
    script = f"sh -c 'while [ ! -e {shlex.quote(str(gate))} ]; do sleep 0.05; done'"
    npm_package(server.home.parent / "lonely", scripts={"postinstall": script})
    with ThreadPoolExecutor(1) as threads:
        post = threads.submit(http.post, "/v1/acp/d2?agent=lonely", json=initialize())
        wait_until(lambda: http.get("/v1/acp").json()["servers"], 10, "the starting instance")
        assert http.delete("/v1/acp/d2", timeout=5).status_code == 204
        assert post.result(10).status_code == 502
    assert http.get("/v1/agents/lonely").json()["installed"] is False
    gate.touch()
    wait_until(lambda: http.get("/v1/agents/lonely").json()["installed"], 40, "the end of the install")
    assert http.get("/v1/acp").json()["servers"] == []
    assert http.post("/v1/agents/lonely/install", json={}).json()["already_installed"] is True


def test_server_with_a_faulty_agents_file_says_so_and_does_not_start(tmp_path: Path) -> None:
    file = tmp_path / "agents.toml"
    file.write_text('[[agent]]\nid = "own"\ncommand = 5\n')
    command = [
        sys.executable,
        "-m",
        "sandbox_agent",
        "server",
        "--no-token",
        "--port",
        "0",
        "--agents-file",
        str(file),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 2 and f"{file}: agent `own`: `command` must be a string" in done.stderr


@pytest.mark.clause("spec1-3.2-lazy-install", "install-require-preinstall")
def test_missing_agent_with_preinstall_required_is_not_found(tmp_path: Path) -> None:
    server = ServerProcess(tmp_path, token=None, settings={"PATH": "/usr/bin:/bin"}).ready()
    try:
        url = f"http://127.0.0.1:{server.port}/v1/acp/x?agent=claude"
        answer = httpx.post(url, json=initialize())
        assert (answer.status_code, kind(answer)) == (404, "agent_not_installed")
        assert answer.json()["agent"] == "claude"
    finally:
        server.stop()


@pytest.mark.clause("install-require-preinstall")
@pytest.mark.parametrize("value", ["1", "true", "yes"])
def test_what_may_not_be_installed_on_first_use_can_be_installed_by_asking_for_it(
    tmp_path: Path, value: str
) -> None:
    """The setting is against surprises, not against a request that says `install`."""
    (tmp_path / "agents.toml").write_text(npm_agent(npm_package(tmp_path)))
    settings = {
        "SANDBOX_AGENT_REQUIRE_PREINSTALL": value,
        "SANDBOX_AGENT_AGENTS_FILE": str(tmp_path / "agents.toml"),
        "npm_config_cache": str(tmp_path / "npm-cache"),
    }
    server = ServerProcess(tmp_path, token=None, settings=settings).ready()
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{server.port}", timeout=60) as http:
            refused = http.post("/v1/acp/x?agent=tiny", json=initialize())
            assert (refused.status_code, kind(refused)) == (404, "agent_not_installed")
            installed = http.post("/v1/agents/tiny/install", json={})
            assert installed.json()["already_installed"] is False
            answer = http.post("/v1/acp/x?agent=tiny", json=initialize())
            assert answer.json()["result"]["protocolVersion"] == 1
    finally:
        server.stop()
