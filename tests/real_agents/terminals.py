"""The client side of `terminal/*`, for agents that let the client run their commands.

A command runs to its end when it is created; it is short and has a time limit.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from typing import Any

from tests.real_agents.driver import Policy

CAPABILITIES = {"terminal": True, "fs": {"readTextFile": True, "writeTextFile": True}}
_LIMIT_S = 20


class Terminals:
    def __init__(self) -> None:
        self._finished: list[subprocess.CompletedProcess[str]] = []

    @property
    def policies(self) -> dict[str, Policy]:
        return {
            "terminal/create": self._create,
            "terminal/output": lambda params: {**self._output(params), "truncated": False},
            "terminal/wait_for_exit": lambda params: self._output(params)["exitStatus"],
            "terminal/kill": lambda _: {},
            "terminal/release": lambda _: {},
        }

    def _create(self, params: Mapping[str, Any]) -> dict[str, Any]:
        arguments = params.get("args") or []
        done = subprocess.run(
            [params["command"], *arguments] if arguments else params["command"],
            shell=not arguments,
            cwd=params.get("cwd"),
            env={**os.environ, **{v["name"]: v["value"] for v in params.get("env") or ()}},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_LIMIT_S,
            check=False,
        )
        self._finished.append(done)
        return {"terminalId": str(len(self._finished) - 1)}

    def _output(self, params: Mapping[str, Any]) -> dict[str, Any]:
        done = self._finished[int(params["terminalId"])]
        return {"output": done.stdout, "exitStatus": {"exitCode": done.returncode, "signal": None}}
