"""The C programs of the benchmark: built when their source is newer, run on the load processor.

Each program prints one JSON object, which `run` returns. Every run has a time limit.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from bench.paths import CACHE, LOAD_CPU, ROOT

SOURCES = ROOT / "bench" / "c"
BUILT = CACHE / "bench-programs"
NAMES = ("echo_agent", "session_agent", "http_load", "sse_readers", "ws_load", "loopback_copy")
AGENT_PROGRAMS = frozenset(str(BUILT / name) for name in ("echo_agent", "session_agent"))


def build() -> None:
    BUILT.mkdir(parents=True, exist_ok=True)
    shared = max(header.stat().st_mtime for header in SOURCES.glob("*.h"))
    for name in NAMES:
        source, program = SOURCES / f"{name}.c", BUILT / name
        if program.exists() and program.stat().st_mtime > max(shared, source.stat().st_mtime):
            continue
        fresh = BUILT / f"{name}.{os.getpid()}"
        subprocess.run(
            ["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", str(fresh), str(source)],
            check=True,
            timeout=60,
        )
        fresh.replace(program)


def path_of(name: str) -> Path:
    return BUILT / name


def start(name: str, **options: object) -> subprocess.Popen[bytes]:
    arguments = [str(path_of(name))]
    for key, value in options.items():
        arguments += [f"--{key.replace('_', '-')}", str(value)]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, preexec_fn=_to_load_cpu)


def result_of(program: subprocess.Popen[bytes], limit: float = 330) -> dict[str, Any]:
    try:
        text, _ = program.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        program.kill()
        program.wait()
        raise
    if program.returncode:
        raise RuntimeError(f"{program.args!r} ended with {program.returncode}")
    answer: dict[str, Any] = json.loads(text)
    return answer


def run(name: str, **options: object) -> dict[str, Any]:
    return result_of(start(name, **options))


def _to_load_cpu() -> None:
    os.sched_setaffinity(0, {LOAD_CPU})
