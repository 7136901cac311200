"""The deploy recipes, without a container engine: their commands exist and work."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from sandbox_agent.cli.server.settings_parser import parse
from sandbox_agent.http.serve import check_exposure
from sandbox_agent.settings import SettingsError
from tests.cli.sandbox_directory import SandboxDirectory
from tests.support.server_process import ServerProcess

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
TOKEN = "token-of-the-recipes"


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    file = tmp_path / "token"
    file.write_text(TOKEN)
    return file


def _instructions() -> dict[str, list[str]]:
    text = (DEPLOY / "Dockerfile").read_text().replace("\\\n", " ")
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        name, _, rest = line.partition(" ")
        if name.isupper():
            found.setdefault(name, []).append(rest)
    return found


def _manifests() -> list[dict[str, object]]:
    return list(yaml.safe_load_all((DEPLOY / "kubernetes" / "sandbox-agent.yaml").read_text()))


def _container() -> dict[str, object]:
    deployment = next(one for one in _manifests() if one["kind"] == "Deployment")
    return deployment["spec"]["template"]["spec"]["containers"][0]  # type: ignore[index,no-any-return]


@pytest.mark.clause("packaging-deploy-recipes")
def test_the_image_starts_a_server_that_insists_on_a_token() -> None:
    instructions = _instructions()
    assert json.loads(instructions["ENTRYPOINT"][0]) == ["sandbox-agent"]
    command, *words = json.loads(instructions["CMD"][0])
    assert command == "server"
    with pytest.raises(SettingsError):
        check_exposure(parse(words, {}))
    parsed = parse(words, {"SANDBOX_AGENT_TOKEN": TOKEN})
    check_exposure(parsed)
    assert str(parsed.port) == instructions["EXPOSE"][0]


def test_the_image_does_not_run_agents_as_root() -> None:
    lines = (DEPLOY / "Dockerfile").read_text().splitlines()
    assert lines.index("USER agent") < next(n for n, line in enumerate(lines) if line.startswith("CMD"))


@pytest.mark.clause("packaging-deploy-recipes")
def test_the_image_installs_the_agents_it_is_asked_for(sandbox: SandboxDirectory) -> None:
    loop = next(line for line in _instructions()["RUN"] if "install-agent" in line)
    programs = Path(sys.executable).parent
    environment = {**sandbox.environment, "PATH": f"{programs}:{os.environ['PATH']}"}
    for agents, code in (("mock", 0), ("", 0), ("mock unknown-agent", 1)):
        done = subprocess.run(
            ["/bin/sh", "-c", loop], env={**environment, "AGENTS": agents}, capture_output=True, timeout=60
        )
        assert done.returncode == code, done.stderr


@pytest.mark.clause("packaging-deploy-recipes")
def test_the_health_check_of_the_image_works(sandbox: SandboxDirectory, tmp_path: Path) -> None:
    check = json.loads(_instructions()["HEALTHCHECK"][0].partition("CMD ")[2])
    server = ServerProcess(tmp_path / "server", token=TOKEN).ready()
    try:
        url = f"http://127.0.0.1:{server.port}"
        environment = {"SANDBOX_AGENT_TOKEN": TOKEN, "SANDBOX_AGENT_URL": url}
        sandbox.run(*check[1:], environment=environment).good()
    finally:
        server.stop()
    assert sandbox.run(*check[1:], environment=environment).code == 1


@pytest.mark.clause("packaging-deploy-recipes")
def test_the_pod_starts_a_server_and_its_probe_asks_it(token_file: Path) -> None:
    container = _container()
    words = [str(word) for word in container["args"]]  # type: ignore[attr-defined]
    mounted = words[words.index("--token-file") + 1]
    parsed = parse([str(token_file) if word == mounted else word for word in words[1:]], {})
    check_exposure(parsed)
    assert (words[0], parsed.token, parsed.port) == ("server", TOKEN, 2468)
    probe = container["livenessProbe"]["exec"]["command"]  # type: ignore[index]
    assert probe[:3] == ["sandbox-agent", "api", "health"]
    assert mounted in probe


def test_the_names_in_the_manifests_fit_together() -> None:
    kinds = {one["kind"]: one for one in _manifests()}
    assert set(kinds) == {"Deployment", "Service", "NetworkPolicy"}
    labels = kinds["Deployment"]["spec"]["template"]["metadata"]["labels"]  # type: ignore[index]
    assert kinds["Service"]["spec"]["selector"] == labels  # type: ignore[index]
    assert kinds["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"] == labels  # type: ignore[index]


@pytest.mark.clause("packaging-deploy-recipes")
def test_the_unit_starts_a_server_with_a_token_from_a_file(token_file: Path) -> None:
    unit = (DEPLOY / "sandbox-agent.service").read_text()
    match = re.search(r"^ExecStart=(.*)$", unit, re.MULTILINE)
    assert match is not None
    words = shlex.split(match[1].replace("${CREDENTIALS_DIRECTORY}/token", str(token_file)))
    assert words[:3] == ["/usr/bin/env", "sandbox-agent", "server"]
    assert parse(words[3:], {}).token == TOKEN


@pytest.mark.clause("packaging-deploy-recipes")
def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    verify = shutil.which("systemd-analyze")
    if verify is None:
        # Nothing to ask; the words of the unit are tested above.
        return
    unit = tmp_path / "sandbox-agent.service"
    text = (DEPLOY / "sandbox-agent.service").read_text()
    unit.write_text(text.replace("User=agent", "User=root"))
    done = subprocess.run([verify, "verify", str(unit)], capture_output=True, text=True, timeout=60)
    complaints = [line for line in done.stderr.splitlines() if "sandbox-agent.service" in line]
    assert complaints == []
