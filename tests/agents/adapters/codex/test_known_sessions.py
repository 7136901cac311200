"""The sessions that codex-native lists: all threads of the program, which tells them page by page."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.agents.adapters.adapter_process import AdapterProcess

_PROGRAM = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    result = {}
    if request["method"] == "thread/list":
        first = int(request["params"].get("cursor") or 0)
        last = min(first + request["params"]["limit"], 250)
        threads = [{"id": f"th-{n}", "cwd": "/", "preview": "", "updatedAt": 1} for n in range(first, last)]
        result = {"data": threads, "nextCursor": str(last) if last < 250 else None}
    print(json.dumps({"id": request["id"], "result": result}), flush=True)
"""


@pytest.mark.clause("spec3-codex-shared-server")
async def test_sessions_of_all_pages_are_listed(tmp_path: Path) -> None:
    script, program = tmp_path / "codex.py", tmp_path / "codex"
    script.write_text(_PROGRAM)
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -S {script} "$@"\n')
    program.chmod(0o755)
    async with AdapterProcess("codex", program, tmp_path, {"HOME": str(tmp_path)}) as adapter:
        answer = await adapter.call("session/list")
        assert [one["sessionId"] for one in answer["result"]["sessions"]] == [f"th-{n}" for n in range(250)]
