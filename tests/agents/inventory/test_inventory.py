"""The inventory: installed agents, versions, models and modes, within a time limit."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from sandbox_agent.agents.install.launcher_script import write_executable
from sandbox_agent.agents.inventory import options_probe
from sandbox_agent.agents.inventory.inventory import Inventory
from tests.agents.install.install_environment import InstallEnvironment
from tests.agents.tiny_agent_package import npm_agent, npm_package
from tests.support.processes import wait_until

OWN = """
[[agent]]
id = "own"
command = "{path}"
credentials = ["env:OWN_KEY"]
"""


LOGIN_AGENT = """\
#!PYTHON
import json, sys
if "--version" in sys.argv:
    sys.exit()
logged_in = False
for line in sys.stdin:
    message = json.loads(line)
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    method = message["method"]
    if method == "initialize":
        methods = [{"id": "browser", "name": "Browser"}, {"id": "api-key", "name": "API key"}]
        answer["result"] = {"protocolVersion": 1, "authMethods": methods}
    elif method == "authenticate":
        logged_in = message["params"] == {"methodId": "api-key"}
        answer["result"] = {}
    elif logged_in:
        models = [{"modelId": "after-login", "name": "A"}]
        state = {"currentModelId": "after-login", "availableModels": models}
        answer["result"] = {"sessionId": "s", "models": state}
    else:
        answer["error"] = {"code": -32000, "message": "Authentication required"}
    print(json.dumps(answer), flush=True)
"""


def inventory(environment: InstallEnvironment) -> Inventory:
    return Inventory(
        environment.catalog, environment.layout, environment.launcher(), environ=environment.environ
    )


def own_agent(directory: Path, script: str, more: str = "") -> InstallEnvironment:
    path = directory / "own-agent"
    write_executable(path, script)
    return InstallEnvironment(directory, OWN.format(path=path) + more)


async def until_asked(stock: Inventory, agent: str) -> dict[str, Any]:
    """The description after the agent has been probed."""
    before = await stock.describe(agent, config=True)
    for _ in range(1500):
        now = await stock.describe(agent, config=True)
        if now != before:
            return now
        await asyncio.sleep(0.02)
    raise AssertionError(f"nothing new of {agent}: {before}")


async def test_list_starts_with_the_reference_and_has_the_users_agents(tmp_path: Path) -> None:
    environment = own_agent(tmp_path, "#!/bin/sh\n")
    agents = await inventory(environment).describe_all()
    assert [agent["id"] for agent in agents][:7] == "claude codex opencode amp pi cursor mock".split()
    assert agents[-1]["id"] == "own" and agents[-1]["installed"]


@pytest.mark.clause("spec2-3-agents-rows")
async def test_keys_have_the_order_of_the_response(tmp_path: Path) -> None:
    environment = InstallEnvironment(tmp_path, "")
    assert list(await inventory(environment).describe("mock")) == [
        *("id", "name", "installed", "credentialsAvailable", "capabilities", "permissionRequests"),
        *("skillsDirectory", "allowedToolsParameter"),
    ]
    assert list(await inventory(environment).describe("mock", config=True)) == [
        *("id", "name", "installed", "credentialsAvailable", "version", "path", "capabilities"),
        *("permissionRequests", "skillsDirectory", "allowedToolsParameter"),
        *("configStatus", "configOptions", "models", "defaultModel", "modes"),
    ]


@pytest.mark.clause("decision-28")
async def test_mock_is_built_in(tmp_path: Path) -> None:
    environment = InstallEnvironment(tmp_path, "")
    mock = await inventory(environment).describe("mock", config=True)
    assert mock["installed"] and mock["credentialsAvailable"]
    assert (mock["version"], mock["path"]) == ("builtin", str(environment.data / "bin" / "mock"))
    assert mock["defaultModel"] == "mock" and [mode["id"] for mode in mock["modes"]] == ["normal", "plan"]


@pytest.mark.clause("decision-56")
async def test_models_of_a_missing_agent_are_unknown(tmp_path: Path) -> None:
    environment = InstallEnvironment(tmp_path, "")
    environment.environ |= {"PATH": "/bin", "ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"}
    for agent in await inventory(environment).describe_all(config=True):
        if agent["id"] != "mock":
            assert agent["installed"] is False and agent["configStatus"] == "unknown", agent
            assert not {"version", "path", "configOptions", "models", "modes", "defaultModel"} & set(agent)


async def test_version_is_read_from_the_program_and_cached(tmp_path: Path) -> None:
    count = tmp_path / "count"
    script = f'#!/bin/sh\necho x >> {count}\necho "own-agent v1.4.2-beta (abc)"\n'
    stock = inventory(own_agent(tmp_path, script))
    for _ in range(3):
        assert (await stock.describe("own", config=True))["version"] == "1.4.2-beta"
    assert count.read_text() == "x\n"
    await stock.describe("own", config=True, no_cache=True)
    assert count.read_text() == "x\nx\n"


@pytest.mark.clause("agents-bounded-version")
async def test_version_of_a_program_that_hangs_takes_two_seconds(tmp_path: Path) -> None:
    stock = inventory(own_agent(tmp_path, "#!/bin/sh\nsleep 60\n"))
    start = time.monotonic()
    own = await stock.describe("own", config=True)
    assert 1.5 < time.monotonic() - start < 15
    assert "version" not in own and own["path"].endswith("own-agent")
    start = time.monotonic()
    await stock.describe("own", config=True)
    assert time.monotonic() - start < 1.5


@pytest.mark.clause("spec2-3-agents-rows", "decision-28")
async def test_models_and_modes_are_read_from_the_agent_after_the_response(tmp_path: Path) -> None:
    agents = npm_agent(npm_package(tmp_path), credentials='["env:TINY_KEY"]')
    environment = InstallEnvironment(tmp_path, agents)
    environment.environ["TINY_KEY"] = "k"
    await environment.installer().install("tiny")
    stock = inventory(environment)
    first = await stock.describe("tiny", config=True)
    assert first["configStatus"] == "asking" and not {"configOptions", "models", "modes"} & set(first)
    tiny = await until_asked(stock, "tiny")
    assert tiny["configStatus"] == "known"
    assert tiny["models"] == [{"id": "tiny-1", "name": "Tiny 1"}, {"id": "tiny-2", "name": "Tiny 2"}]
    assert tiny["defaultModel"] == "tiny-2"
    assert tiny["modes"] == [{"id": "careful", "name": "Careful", "description": "Slow"}]
    assert "configError" not in tiny
    await stock.aclose()


@pytest.mark.clause("agents-probe-directory")
async def test_agent_is_always_asked_in_the_same_directory(tmp_path: Path) -> None:
    """Agents keep a folder in the user's home for every directory in which they had a session."""
    seen = tmp_path / "seen"
    script = LOGIN_AGENT.replace("PYTHON", sys.executable).replace(
        "logged_in = False",
        f"import os; open({str(seen)!r}, 'a').write(os.getcwd() + chr(10)); logged_in = False",
    )
    environment = own_agent(tmp_path, script)
    environment.environ["OWN_KEY"] = "k"
    for _ in range(2):
        stock = inventory(environment)
        assert (await until_asked(stock, "own"))["configStatus"] == "known"
        await stock.aclose()
    places = seen.read_text().splitlines()
    assert len(places) == 2 and len(set(places)) == 1
    assert os.listdir(places[0]) == []


@pytest.mark.clause("agents-probe-directory")
async def test_the_folder_that_an_agent_makes_for_a_probe_is_removed(tmp_path: Path) -> None:
    folders = tmp_path / "home" / ".own" / "sessions"
    (folders / "-srv-project").mkdir(parents=True)
    make_folder = f"os.makedirs({str(folders)!r} + '/' + os.getcwd().replace('/', '-') + '/x')"
    script = LOGIN_AGENT.replace("PYTHON", sys.executable).replace(
        "logged_in = False", f"import os; logged_in = False\n{make_folder}"
    )
    environment = own_agent(tmp_path, script, 'session_folders = [".own/sessions", ".own/not-there"]')
    environment.environ |= {"OWN_KEY": "k", "HOME": str(tmp_path / "home")}
    stock = inventory(environment)
    assert (await until_asked(stock, "own"))["configStatus"] == "known"
    await stock.aclose()
    assert os.listdir(folders) == ["-srv-project"]


async def test_agent_without_credentials_is_not_asked(tmp_path: Path) -> None:
    started = tmp_path / "started"
    script = f'#!/bin/sh\n[ "$1" = --version ] || touch {started}\n'
    stock = inventory(own_agent(tmp_path, script))
    own = await stock.describe("own", config=True)
    await stock.aclose()
    assert own["credentialsAvailable"] is False and not started.exists()
    assert own["configStatus"] == "unknown" and not {"models", "modes"} & set(own)


async def test_agent_that_does_not_answer_has_a_config_error(tmp_path: Path) -> None:
    environment = own_agent(tmp_path, '#!/bin/sh\n[ "$1" = --version ] && exit\necho "no disk" >&2\nexit 9\n')
    environment.environ["OWN_KEY"] = "k"
    stock = inventory(environment)
    own = await until_asked(stock, "own")
    assert own["configStatus"] == "failed" and "exit code 9" in own["configError"]
    assert not {"configOptions", "models", "modes"} & set(own)
    await stock.aclose()


@pytest.mark.clause("decision-56")
async def test_agent_that_needs_a_login_is_asked_as_a_session_would(tmp_path: Path) -> None:
    script = LOGIN_AGENT.replace("PYTHON", sys.executable)
    environment = own_agent(tmp_path, script)
    environment.environ["OWN_KEY"] = "k"
    stock = inventory(environment)
    own = await until_asked(stock, "own")
    assert own["configStatus"] == "known" and "configError" not in own, own
    assert [model["id"] for model in own["models"]] == ["after-login"]
    await stock.aclose()


async def test_failed_question_is_asked_again_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ready = tmp_path / "logged-in"
    script = LOGIN_AGENT.replace("PYTHON", sys.executable).replace(
        "logged_in = False",
        f"""
import os
if not os.path.exists({str(ready)!r}):
    sys.exit(9)
logged_in = True""",
    )
    environment = own_agent(tmp_path, script)
    environment.environ["OWN_KEY"] = "k"
    stock = inventory(environment)
    assert (await until_asked(stock, "own"))["configStatus"] == "failed"
    ready.touch()
    assert (await stock.describe("own", config=True))["configStatus"] == "failed"
    monkeypatch.setattr(options_probe, "_RETRY_FAILED_AFTER_S", 0.0)
    for _ in range(1500):
        own = await stock.describe("own", config=True)
        if own["configStatus"] == "known":
            break
        await asyncio.sleep(0.02)
    assert own["configStatus"] == "known", own
    await stock.aclose()


async def test_closing_the_inventory_ends_the_probe(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    script = (
        '#!/bin/sh\n[ "$1" = --version ] && exit\n'
        f"echo $$ > {pid_file}.new; mv {pid_file}.new {pid_file}\nexec sleep 60\n"
    )
    environment = own_agent(tmp_path, script)
    environment.environ["OWN_KEY"] = "k"
    stock = inventory(environment)
    await stock.describe("own", config=True)
    await asyncio.to_thread(wait_until, pid_file.exists, 20, "the probe")
    await stock.aclose()
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid_file.read_text()), 0)


@pytest.mark.parametrize("name", ["claude-acp", "claude"])
async def test_launcher_of_the_user_makes_an_agent_installed(tmp_path: Path, name: str) -> None:
    environment = InstallEnvironment(tmp_path, "")
    environment.environ["PATH"] = "/bin"
    processes = environment.launcher_file().parent
    processes.mkdir(parents=True)
    write_executable(processes / name, "#!/bin/sh\n")
    claude = await inventory(environment).describe("claude")
    assert claude["installed"] is (name == "claude-acp")
