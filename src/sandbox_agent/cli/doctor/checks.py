"""The checks of the doctor: each examines one thing and returns a finding with a remedy."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from sandbox_agent import settings
from sandbox_agent.agents.catalog.agent_spec import AgentSpec
from sandbox_agent.agents.catalog.catalog import Catalog, CatalogError
from sandbox_agent.agents.credentials import available_for, credential_variables
from sandbox_agent.agents.install.layout import InstallLayout
from sandbox_agent.agents.launch.program import find_program
from sandbox_agent.http.endpoints.inspector import PAGE_DIRECTORY

Verdict = Literal["ok", "note", "missing"]
_MIN_FREE_BYTES = 2 * 1024**3
_OLDEST_NODE = 20
_VERSION_LIMIT_S = 10


@dataclass(frozen=True)
class Finding:
    subject: str
    verdict: Verdict
    fact: str
    remedy: str = ""

    def as_document(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value}


def run_checks() -> list[Finding]:
    """All checks, the most important first."""
    return [_python(), _system(), _data_directory(), _disk(), _page(), _node(), *_extras(), *_agents()]


def _python() -> Finding:
    return Finding("Python", "ok", f"{sys.version.split()[0]} at {sys.executable}")


def _system() -> Finding:
    if sys.platform == "linux":
        return Finding("system", "ok", "Linux")
    return Finding(
        "system",
        "note",
        f"{sys.platform}: the server supports Linux only",
        "run it in a container or sandbox",
    )


def _data_directory() -> Finding:
    directory = Path(settings.default_data_directory())
    existing = _existing_parent(directory)
    if existing.is_dir() and os.access(existing, os.W_OK):
        return Finding("data directory", "ok", str(directory))
    return Finding(
        "data directory",
        "missing",
        f"{directory} is not writable",
        "set XDG_DATA_HOME to a writable directory",
    )


def _existing_parent(directory: Path) -> Path:
    """The directory itself, or the nearest parent that exists."""
    return next(path for path in (directory, *directory.parents) if path.exists())


def _disk() -> Finding:
    free = shutil.disk_usage(_existing_parent(Path(settings.default_data_directory()))).free
    fact = f"{free / 1024**3:.1f} GiB free for agents and spilled events"
    if free >= _MIN_FREE_BYTES:
        return Finding("disk", "ok", fact)
    return Finding(
        "disk", "note", fact, "agents need 50 to 600 MB each: free some space, or move XDG_DATA_HOME"
    )


def _page() -> Finding:
    if (PAGE_DIRECTORY / "index.html").exists():
        return Finding("inspector page", "ok", "at /ui/ of the server")
    return Finding(
        "inspector page", "note", "not built", "install a wheel, or build it as inspector/README.md says"
    )


def _node() -> Finding:
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        return Finding(
            "Node.js",
            "note",
            "not found: agents that come from npm cannot be installed",
            f"install Node.js {_OLDEST_NODE} or newer with npm (apt-get install nodejs npm)",
        )
    version = _version(node)
    if version is None or int(version.partition(".")[0]) < _OLDEST_NODE:
        return Finding(
            "Node.js",
            "note",
            f"{version or 'unknown version'} at {node}",
            "nothing to do: agents that need a newer one get it from npm",
        )
    return Finding("Node.js", "ok", f"{version} at {node}")


def _version(program: str) -> str | None:
    try:
        asked = subprocess.run(  # noqa: S603 - a program found on PATH, asked for its version
            [program, "--version"], capture_output=True, text=True, timeout=_VERSION_LIMIT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    version = asked.stdout.strip().removeprefix("v")
    return version if version[:1].isdigit() else None


def _extras() -> Iterator[Finding]:
    for module, use, extra in (
        ("zstandard", "zstd archives in uploads", "zstd"),
        ("psycopg", "sessions in Postgres", "postgres"),
        ("opentelemetry", "traces", "otel"),
    ):
        if importlib.util.find_spec(module) is None:
            yield Finding(use, "note", "not available", f"optional: pip install 'sandbox-agent[{extra}]'")
        else:
            yield Finding(use, "ok", "available")


def _agents() -> Iterator[Finding]:
    named = os.environ.get("SANDBOX_AGENT_AGENTS_FILE")
    try:
        catalog = Catalog.load(Path(named) if named else None)
    except CatalogError as error:
        yield Finding("agents file", "missing", str(error), "correct the file")
        catalog = Catalog()
    layout = InstallLayout(settings.default_data_directory())
    for agent_id in catalog.ids():
        yield _agent(catalog.get(agent_id), layout)


def _agent(spec: AgentSpec, layout: InstallLayout) -> Finding:
    subject = f"agent {spec.id}"
    program = find_program(spec, layout, os.environ)
    if program is None and not spec.builtin:
        how = f"put {spec.command[0]} there" if spec.is_local else f"sandbox-agent install-agent {spec.id}"
        return Finding(subject, "note", "not installed", how)
    if not available_for(spec):
        return Finding(subject, "note", "installed, but no key for it was found", _key_advice(spec))
    return Finding(subject, "ok", "built in" if program is None else program.path)


def _key_advice(spec: AgentSpec) -> str:
    variables = credential_variables(spec)
    return f"set {' or '.join(variables)}" if variables else f"log in with {spec.name}"
