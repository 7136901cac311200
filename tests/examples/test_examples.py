"""Every example runs with the mock agent, as it stands in the repository."""

from __future__ import annotations

import ast
import inspect
import json
import os
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import httpx
import pexpect
import pytest

from tests.cli.sandbox_directory import SandboxDirectory
from tests.support.processes import wait_until
from tests.support.server_process import free_port

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
INTERACTIVE = {"chat_terminal.py", "web_backend.py", "test_with_pytest.py"}
SAYS = {
    "batch_eval.py": "0 agents left",
    "custom_agent.py": "HELLO FROM MY OWN AGENT!",
    "files_and_mcp.py": "the agent was given: clock",
    "resume.py": "the agent knows the past: True",
}


@pytest.mark.clause("docs-examples")
@pytest.mark.parametrize(
    "name", sorted(path.name for path in EXAMPLES.glob("*.py") if path.name not in INTERACTIVE)
)
def test_an_example_runs(name: str, sandbox: SandboxDirectory) -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name)],
        env=sandbox.environment,
        cwd=sandbox.home,
        capture_output=True,
        text=True,
        timeout=50,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.strip()
    assert SAYS.get(name, "") in done.stdout


@pytest.mark.clause("docs-examples")
def test_the_custom_agent_has_no_more_than_forty_lines_of_code() -> None:
    text = (EXAMPLES / "custom_agent.py").read_text().split('"""', 2)[2]
    assert len([line for line in text.splitlines() if line.strip()]) <= 40


@pytest.mark.clause("docs-examples")
def test_the_tests_of_the_pytest_example_pass(sandbox: SandboxDirectory) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "sandbox_agent.testing", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "--rootdir", str(sandbox.home), "-c", os.devnull, str(EXAMPLES / "test_with_pytest.py")],
        env=sandbox.environment,
        cwd=sandbox.home,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0 and "2 passed" in done.stdout, done.stdout + done.stderr


@pytest.mark.clause("docs-examples")
async def test_every_cell_of_the_notebook_runs(
    sandbox: SandboxDirectory, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in sandbox.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(sandbox.home)
    cells = json.loads((EXAMPLES / "notebook.ipynb").read_text(encoding="utf-8"))["cells"]
    names: dict[str, object] = {"__name__": "__main__"}
    for number, cell in enumerate(cell for cell in cells if cell["cell_type"] == "code"):
        source = "".join(cell["source"])
        # As a notebook does: on a running loop, with `await` outside of a function.
        compiled = compile(source, f"cell {number}", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        running = types.FunctionType(compiled, names)()
        if inspect.isawaitable(running):
            await running
    assert "end_turn chunk 20" in capsys.readouterr().out


@pytest.mark.clause("docs-examples")
def test_a_chat_in_the_terminal(sandbox: SandboxDirectory) -> None:
    chat = pexpect.spawn(
        sys.executable,
        [str(EXAMPLES / "chat_terminal.py")],
        env=sandbox.environment,
        cwd=str(sandbox.home),
        timeout=40,
        encoding="utf-8",
    )
    try:
        chat.expect_exact("> ")
        chat.sendline("echo hello there")
        chat.expect_exact("hello there\r\n(end_turn)")
        chat.expect_exact("> ")
        chat.sendline("permission")
        chat.expect_exact("[once/always/reject] ")
        chat.sendline("always")
        chat.expect_exact("selected allow-always")
        chat.expect_exact("> ")
        chat.sendline("stream 1000 100")
        chat.expect_exact("chunk 2")
        chat.sendintr()
        chat.expect_exact("(stopped)")
        chat.expect_exact("> ")
        chat.sendline("echo still here")
        chat.expect_exact("still here\r\n(end_turn)")
        chat.expect_exact("> ")
        chat.sendline("")
        chat.expect(pexpect.EOF)
        chat.wait()
        assert chat.exitstatus == 0
    finally:
        chat.close(force=True)


@pytest.fixture
def backend(sandbox: SandboxDirectory) -> Iterator[str]:
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, str(EXAMPLES / "web_backend.py")],
        env={**sandbox.environment, "PORT": str(port)},
        cwd=sandbox.home,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"

    def up() -> bool:
        try:
            return httpx.post(f"{url}/chats").status_code == 401
        except httpx.TransportError:
            return False

    try:
        wait_until(up, 30, "the backend")
        yield url
    finally:
        process.terminate()
        process.wait(20)


@pytest.mark.clause("docs-examples")
def test_a_web_backend_relays_a_session(backend: str) -> None:
    ann = httpx.Client(base_url=backend, headers={"authorization": "Bearer token-of-ann"}, timeout=20)
    bob = httpx.Client(base_url=backend, headers={"authorization": "Bearer token-of-bob"}, timeout=20)
    with ann, bob:
        chat = ann.post("/chats").json()["id"]
        assert bob.get(f"/chats/{chat}/events").status_code == 404
        seen: list[dict[str, object]] = []
        with ann.stream("GET", f"/chats/{chat}/events") as stream:
            assert ann.post(f"/chats/{chat}/prompts", json={"text": "permission"}).status_code == 202
            assert ann.post(f"/chats/{chat}/prompts", json={"text": "too early"}).status_code == 409
            for line in stream.iter_lines():
                if not line.startswith("data: "):
                    continue
                event = json.loads(line.removeprefix("data: "))
                seen.append(event)
                if event["type"] == "permission.requested":
                    wanted = event["data"]["permission_id"]
                    answer = ann.post(f"/chats/{chat}/permissions/{wanted}", json={"reply": "once"})
                    assert answer.status_code == 204
                if event["type"] == "turn.ended":
                    break
        assert seen[0]["type"] == "session.started"
        # A browser that comes back gets what it missed, and only that.
        since = {"last-event-id": str(seen[-2]["sequence"])}
        with ann.stream("GET", f"/chats/{chat}/events", headers=since) as stream:
            data = next(line for line in stream.iter_lines() if line.startswith("data: "))
            assert json.loads(data.removeprefix("data: ")) == seen[-1]
