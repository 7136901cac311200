"""`--warm`: processes that wait for their first message, given to the instances that they fit."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.processes import wait_until
from tests.support.server_process import HttpServer, ServerProcess

pytestmark = pytest.mark.process

# Says hello before any message, and answers each request with what it is and what it has seen.
AGENT = """\
#!PYTHON -S
import json, os, sys
if os.path.exists("crash"):
    sys.exit(4)
print(json.dumps({"jsonrpc": "2.0", "method": "hello", "params": {"pid": os.getpid()}}), flush=True)
seen = []
for line in sys.stdin:
    message = json.loads(line)
    seen.append(message["method"])
    facts = {"pid": os.getpid(), "cwd": os.getcwd(), "key": os.environ.get("KEY"), "seen": seen}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": facts}), flush=True)
"""


class WarmServer:
    def __init__(self, server: ServerProcess, program: Path) -> None:
        self.process, self.program = server, program
        self.http = httpx.Client(base_url=f"http://127.0.0.1:{server.port}", timeout=60)

    @property
    def warm(self) -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = self.http.get("/v1/acp").json()["warm"]
        return listed

    def pids(self) -> set[int]:
        return {one["pid"] for one in self.warm}

    def filled(self, count: int, without: Set[int] = frozenset()) -> set[int]:
        """The pids of the warm processes, when there are `count` and none of `without`."""

        def ready() -> set[int] | None:
            pids = self.pids()
            return pids if len(pids) == count and not pids & without else None

        found: set[int] = wait_until(ready, 60, f"{count} warm processes without {without}: {self.warm}")
        return found

    def first_post(self, server_id: str, *, cwd: str | None = None, env: Any = None) -> dict[str, Any]:
        headers = {"x-sandbox-agent-env": json.dumps(env)} if env is not None else {}
        query = {"agent": "own"} | ({"cwd": cwd} if cwd else {})
        body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}
        answer = self.http.post(f"/v1/acp/{server_id}", params=query, json=body, headers=headers)
        assert answer.status_code == 200, answer.text
        result: dict[str, Any] = answer.json()["result"]
        return result


@contextmanager
def running(
    directory: Path, warm: str, http_server: HttpServer = HttpServer.OWN, **settings: str
) -> Iterator[WarmServer]:
    directory.mkdir(exist_ok=True)
    program = directory / "own-agent"
    write(program, AGENT)
    agents = directory / "agents.toml"
    agents.write_text(f'[[agent]]\nid = "own"\ncommand = "{program}"\n')
    values = {"SANDBOX_AGENT_AGENTS_FILE": str(agents), "SANDBOX_AGENT_WARM": warm, **settings}
    server = ServerProcess(directory, settings=values, token=None, http_server=http_server).ready()
    warm_server = WarmServer(server, program)
    try:
        yield warm_server
    finally:
        warm_server.http.close()
        assert server.stop() is not None
    assert "stopped_late" not in server.log_path.read_text()
    assert not server.kill_leftovers()


def write(program: Path, text: str) -> None:
    new = program.with_suffix(".new")
    new.write_text(text.replace("PYTHON", sys.executable))
    new.chmod(0o755)
    new.rename(program)


@pytest.mark.clause("agents-warm")
@pytest.mark.parametrize("http_server", list(HttpServer))
def test_first_post_takes_a_warm_process_and_another_takes_its_place(
    tmp_path: Path, http_server: HttpServer
) -> None:
    with running(tmp_path, "own=2", http_server) as server:
        before = server.filled(2)
        for one in server.warm:
            assert one["agent"] == "own" and one["cwd"] == str(server.process.home)
            assert one["memoryBytes"] > 1_000_000 and one["startedAtMs"] > 0
        facts = server.first_post("a")
        assert facts["pid"] in before and facts["seen"] == ["initialize"]
        (instance,) = server.http.get("/v1/acp").json()["servers"]
        assert instance["pid"] == facts["pid"] and instance["status"] == "running"
        assert server.filled(2, without={facts["pid"]}) & before == before - {facts["pid"]}
        # What it wrote before its first message is an event of the instance that took it.
        with server.http.stream("GET", "/v1/acp/a") as stream:
            line = next(line for line in stream.iter_lines() if line.startswith("data: "))
        assert json.loads(line.removeprefix("data: "))["params"] == {"pid": facts["pid"]}


@pytest.mark.clause("agents-warm")
def test_instance_that_would_start_otherwise_gets_a_process_of_its_own(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    with running(tmp_path, "own=1") as server:
        warm = server.filled(1)
        assert server.first_post("env", env={"KEY": "secret"})["pid"] not in warm
        assert server.first_post("cwd", cwd=str(other))["pid"] not in warm
        assert server.pids() == warm, "it waits for an instance that it fits"
        assert server.first_post("same-cwd", cwd=str(server.process.home))["pid"] in warm
        again = server.filled(1, without=warm)
        write(server.program, AGENT + "# another version\n")
        facts = server.first_post("version")
        assert facts["pid"] not in again and facts["key"] is None
        server.filled(1, without=again)


@pytest.mark.clause("agents-warm")
def test_directory_that_was_replaced_does_not_fit(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    with running(tmp_path / "server", f"own=1@{project}") as server:
        warm = server.filled(1)
        assert server.warm[0]["cwd"] == str(project)
        project.rmdir()
        project.mkdir()
        facts = server.first_post("a", cwd=str(project))
        assert facts["pid"] not in warm and facts["cwd"] == str(project)
        fresh = server.filled(1, without=warm)
        assert server.first_post("b", cwd=str(project))["pid"] in fresh


@pytest.mark.clause("agents-warm")
def test_no_two_instances_ever_share_a_process(tmp_path: Path) -> None:
    with running(tmp_path, "own=3") as server, ThreadPoolExecutor(12) as pool:
        warm = server.filled(3)
        facts = list(pool.map(server.first_post, (f"user-{number}" for number in range(12))))
        pids = [fact["pid"] for fact in facts]
        assert len(set(pids)) == 12 and warm <= set(pids)
        assert all(fact["seen"] == ["initialize"] for fact in facts)
        for number in range(12):
            assert server.http.delete(f"/v1/acp/user-{number}").status_code == 204
        assert not server.filled(3) & set(pids), "a process is given away once"


@pytest.mark.clause("agents-warm")
def test_process_that_exits_while_it_waits_is_replaced(tmp_path: Path) -> None:
    with running(tmp_path, "own=1") as server:
        (warm,) = server.filled(1)
        ended = os.pidfd_open(warm)
        os.kill(warm, signal.SIGKILL)
        assert select.select([ended], [], [], 5)[0], "the end of the warm process"
        os.close(ended)
        facts = server.first_post("a")
        assert facts["pid"] != warm, "a dead process is not given to an instance"
        server.filled(1, without={warm})


@pytest.mark.clause("agents-warm")
def test_agent_that_crashes_at_its_start_is_tried_less_and_less_often(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "crash").touch()
    with running(tmp_path, "own=1") as server:

        def crashes() -> int:
            return server.process.log_path.read_text().count("warm.exited")

        wait_until(crashes, 60, "the first crash")
        assert server.warm == []
        (tmp_path / "home" / "crash").unlink()
        server.filled(1)
        assert crashes() <= 2


@pytest.mark.clause("agents-warm")
def test_processes_that_are_not_needed_end_and_come_back_with_the_next_instance(tmp_path: Path) -> None:
    # Long enough for both processes to be ready at once on a loaded machine.
    with running(tmp_path, "own=2", SANDBOX_AGENT_WARM_IDLE_TIMEOUT="6") as server:
        first = server.filled(2)
        wait_until(lambda: not server.pids(), 60, "end of the idle processes")
        wait_until(lambda: not any(map(exists, first)), 60, "exit of the idle processes")
        server.first_post("a")
        assert server.filled(2)


@pytest.mark.clause("agents-warm")
def test_listing_without_warm_agents_is_unchanged(tmp_path: Path) -> None:
    server = ServerProcess(tmp_path, token=None).ready()
    try:
        assert httpx.get(f"http://127.0.0.1:{server.port}/v1/acp").json() == {"servers": []}
    finally:
        server.stop()


@pytest.mark.clause("agents-warm")
@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("mock", "AGENT=COUNT"),
        ("mock=-1", "AGENT=COUNT"),
        ("mock=two", "AGENT=COUNT"),
        ("mock=1000", "at most 100"),
        ("nothing=1", "no agent 'nothing'"),
        ("mock=1@relative", "absolute"),
        ("mock=1@/does/not/exist", "no directory"),
    ],
)
def test_wrong_value_is_refused_at_the_start(tmp_path: Path, value: str, words: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "sandbox_agent", "server", "--port", "0", "--warm", value],
        env={**os.environ, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2 and words in done.stderr, done.stderr


def exists(pid: int) -> bool:
    return os.path.exists(f"/proc/{pid}")
