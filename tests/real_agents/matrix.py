"""Run a real agent through the server: one check after another, each timed.

The checks are the rows of docs/agents.md. Tests assert on each of them; `scripts/agents-matrix` writes them
for every agent. A failed check does not stop the others.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from tests.real_agents import home_processes, terminals
from tests.real_agents.driver import Driver, Turn, allow, install, reject
from tests.real_agents.recipes import Recipe
from tests.real_agents.terminals import Terminals

QUESTION = "Which colour?"
_CAPABILITIES = {"elicitation": {"form": {}}, "fs": {"readTextFile": False, "writeTextFile": False}}
_ENDED_WITHIN_S = 10.0


class Unsupported(Exception):
    """The agent does not have this feature, according to its recipe."""


@dataclass
class Check:
    works: bool | None
    """None: the agent does not have the feature."""
    milliseconds: int
    note: str = ""


@dataclass
class Observation:
    agent: str
    version: str = ""
    checks: dict[str, Check] = field(default_factory=dict)
    capabilities: dict[str, Any] = field(default_factory=dict)
    modes: list[str] = field(default_factory=list)
    options: list[str] = field(default_factory=list)
    resident_mb: int = 0
    processes: int = 0
    longest_line: int = 0


class Matrix:
    """Observes one agent. `http` is a client of a server, `base` the address of the fake model."""

    def __init__(self, recipe: Recipe, http: httpx.AsyncClient, base: str, directory: Path) -> None:
        self.recipe, self.http = recipe, http
        self.home, self.cwd = directory / "home", directory / "work"
        self.home.mkdir(parents=True)
        self.cwd.mkdir()
        self.env = {"HOME": str(self.home)} | {
            key: self._fill(value, base) for key, value in recipe.env.items()
        }
        for name, text in recipe.files.items():
            path = self.home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self._fill(text, base))
        self.seen = Observation(recipe.agent)
        self._session = ""

    def _fill(self, text: str, base: str) -> str:
        return text.replace("{base}", base).replace("{home}", str(self.home))

    def driver(self) -> Driver:
        server_id = f"{self.recipe.agent}-{secrets.token_hex(4)}"
        return Driver(self.http, server_id, self.recipe.agent, cwd=str(self.cwd), env=self.env)

    async def observe(self) -> Observation:
        """Run all checks in order; later ones use the first session."""
        await self._check("install", self._install())
        async with self.driver() as driver:
            await self._check("initialize", self._initialize(driver))
            await self._check("session/new", self._new_session(driver))
            if self.seen.checks["session/new"].works:
                for name, check in _IN_A_SESSION.items():
                    await self._check(name, check(self, driver))
                self.seen.longest_line = driver.longest_line
                tree = home_processes.with_home(self.home)
                self.seen.processes, self.seen.resident_mb = len(tree), home_processes.resident_mb(tree)
        await self._check("load after restart", self._load())
        await self._check("DELETE in mid-tool", self._delete_in_mid_tool())
        await self._check("agent killed in mid-tool", self._killed_in_mid_tool())
        return self.seen

    async def _check(self, name: str, work: Awaitable[str | None]) -> None:
        start = time.monotonic()
        works: bool | None = True
        try:
            note = await work or ""
        except Unsupported as reason:
            works, note = None, str(reason)
        except Exception as error:
            works, note = False, f"{type(error).__name__}: {error}"[:2000]
        self.seen.checks[name] = Check(works, round((time.monotonic() - start) * 1000), note)

    async def _install(self) -> str:
        installed = await install(self.http, self.recipe.agent)
        listing = await self.http.get(
            f"/v1/agents/{self.recipe.agent}", params={"config": "true"}, timeout=60
        )
        info = listing.json()
        assert info["installed"], info
        self.seen.version = info.get("version", "")
        return "was there" if installed["already_installed"] else ""

    async def _initialize(self, driver: Driver) -> None:
        result = await driver.start(capabilities=_CAPABILITIES)
        assert result["protocolVersion"] == 1, result
        self.seen.capabilities = result.get("agentCapabilities", {})
        if self.recipe.authenticate:
            await driver.call("authenticate", {"methodId": self.recipe.authenticate})

    async def _new_session(self, driver: Driver) -> None:
        result = await driver.new_session()
        self._session = result["sessionId"]
        modes = result.get("modes") or {}
        self.seen.modes = [mode["id"] for mode in modes.get("availableModes", [])]
        self.seen.options = [option["id"] for option in result.get("configOptions") or []]

    async def _text(self, driver: Driver) -> None:
        turn = await driver.prompt(self._session, "[[say Hello from the model]]")
        assert turn.stop_reason == "end_turn", turn
        assert "Hello from the model" in turn.text(), turn.text()

    async def _thought(self, driver: Driver) -> None:
        turn = await driver.prompt(self._session, "[[think pondering deeply]] [[say thought about it]]")
        assert "thought about it" in turn.text(), turn.text()
        if "pondering" not in turn.text("agent_thought_chunk"):
            raise Unsupported("does not pass reasoning on")

    @asynccontextmanager
    async def _with_permissions(self, driver: Driver) -> AsyncIterator[tuple[Driver, str]]:
        """A driver and a session in which the agent asks before it runs a command, if it ever does."""
        if not self.recipe.asks_only_if_served:
            yield driver, self._session
            return
        async with self.driver() as serving:
            serving.policies |= Terminals().policies
            await serving.start(capabilities=terminals.CAPABILITIES)
            yield serving, (await serving.new_session())["sessionId"]

    async def _tool_allowed(self, driver: Driver) -> str:
        async with self._with_permissions(driver) as (asking, session):
            return await self._allow_tool(asking, session)

    async def _allow_tool(self, driver: Driver, session: str) -> str:
        await self._prepare_tools(driver, session)
        driver.policies["session/request_permission"] = allow
        turn = await driver.prompt(session, self.shell("printf 'hello-%s' from-the-tool"))
        assert turn.tool_calls, f"no tool call in {turn.updates}"
        assert "hello-from-the-tool" in str(turn.messages), str(turn.messages)[-1500:]
        asked = turn.requests("session/request_permission")
        if self.recipe.asks_permission:
            assert asked, "it did not ask"
        return "asked first" if asked else "ran without asking"

    async def _tool_rejected(self, driver: Driver) -> str:
        if not self.recipe.asks_permission:
            raise Unsupported("never asks")
        async with self._with_permissions(driver) as (asking, session):
            return await self._reject_tool(asking, session)

    async def _reject_tool(self, driver: Driver, session: str) -> str:
        witness = self.cwd / "rejected"
        driver.policies["session/request_permission"] = reject
        try:
            turn = await driver.prompt(session, self.shell(f"touch {witness}"))
        finally:
            driver.policies["session/request_permission"] = allow
        assert turn.requests("session/request_permission"), "it did not ask"
        assert not witness.exists(), "it ran the rejected command"
        assert turn.stop_reason in self.recipe.after_reject, turn.stop_reason
        return turn.stop_reason

    async def _question(self, driver: Driver) -> str:
        method = self.recipe.question
        if method is None:
            raise Unsupported("no questions over ACP")
        session = (await driver.new_session())["sessionId"]
        if self.recipe.option_for_questions:
            option, value = self.recipe.option_for_questions
            params = {"sessionId": session, "configId": option, "value": value}
            await driver.call("session/set_config_option", params)
        driver.policies[method] = _answer_question
        try:
            turn = await driver.prompt(session, f"[[ask {QUESTION}]]")
        finally:
            driver.policies["session/request_permission"] = allow
        assert turn.requests(method), f"no {method} in {[m.get('method') for m in turn.messages]}"
        assert "Red" in turn.text() or "Red" in str(turn.tool_calls), str(turn.messages)[-1500:]
        return method

    async def _cancel(self, driver: Driver) -> None:
        if not self.recipe.streams:
            await self._cancel_in_mid_tool()
            return
        since = driver.seen
        text = f"[[slow {self.recipe.slow_pieces} 0.2]]"
        prompt = asyncio.create_task(driver.prompt(self._session, text))
        try:
            await driver.wait_for(
                "streamed text", lambda message: "tick" in str(message.get("params")), since
            )
            await driver.notify("session/cancel", {"sessionId": self._session})
            turn = await prompt
        finally:
            prompt.cancel()
            await asyncio.gather(prompt, return_exceptions=True)
        assert turn.stop_reason == "cancelled", turn.stop_reason

    async def _cancel_in_mid_tool(self) -> None:
        running = self.in_mid_tool()
        async with running as driver:
            await driver.notify("session/cancel", {"sessionId": running.session})
            assert running.prompt is not None
            turn = await running.prompt
        assert turn.stop_reason == "cancelled", turn.stop_reason

    async def _second_session(self, driver: Driver) -> None:
        second = (await driver.new_session())["sessionId"]
        assert second != self._session
        turn = await driver.prompt(second, "[[say Second session here]]")
        assert "Second session here" in turn.text(), turn.text()

    async def _load(self) -> str:
        if not self.recipe.loads_sessions:
            raise Unsupported("does not load sessions")
        async with self.driver() as driver:
            await self._initialize(driver)
            since = driver.seen
            params = {"sessionId": self._session, "cwd": str(self.cwd), "mcpServers": []}
            await driver.call("session/load", params)
            await driver.wait_for("replayed text", lambda message: "Hello from the" in str(message), since)
            turn = await driver.prompt(self._session, "[[say And on it goes]]")
            assert "And on it goes" in turn.text(), turn.text()
        return "replayed, then a turn"

    async def _delete_in_mid_tool(self) -> str:
        async with self.in_mid_tool() as driver:
            start = time.monotonic()
            await driver.delete()
            answered = time.monotonic() - start
        await self._nothing_left()
        return f"answered in {answered * 1000:.0f} ms"

    async def _killed_in_mid_tool(self) -> str:
        async with self.in_mid_tool() as driver:
            listing = (await self.http.get("/v1/acp")).json()["servers"]
            server = next(row for row in listing if driver._url.endswith(row["serverId"]))
            home_processes.kill(server["pid"])
            await self._nothing_left()
        return ""

    def in_mid_tool(self) -> _MidTool:
        return _MidTool(self)

    def shell(self, command: str) -> str:
        """A prompt that makes the model run `command` after a command that the agent asks permission for."""
        return f"[[shell {self._fill(self.recipe.command, '')} && {command}]]"

    async def _prepare_tools(self, driver: Driver, session: str) -> None:
        if self.recipe.mode_for_tools:
            params = {"sessionId": session, "modeId": self.recipe.mode_for_tools}
            await driver.call("session/set_mode", params)

    async def _nothing_left(self) -> None:
        """Wait until neither the agent nor its tools run, in any session."""
        deadline = time.monotonic() + _ENDED_WITHIN_S
        while left := home_processes.with_home(self.home):
            assert time.monotonic() < deadline, f"still alive: {left}"
            await asyncio.sleep(0.05)


class _MidTool:
    """An agent whose shell tool is running."""

    def __init__(self, matrix: Matrix) -> None:
        self._matrix = matrix
        self._driver = matrix.driver()
        self.session = ""
        self.prompt: asyncio.Task[Turn] | None = None

    async def __aenter__(self) -> Driver:
        try:
            return await self._run_tool()
        except BaseException:
            await self.__aexit__()
            raise

    async def _run_tool(self) -> Driver:
        matrix, driver = self._matrix, self._driver
        await matrix._initialize(driver)
        session = self.session = (await driver.new_session())["sessionId"]
        await matrix._prepare_tools(driver, session)
        endless = matrix.cwd / f"endless-{secrets.token_hex(4)}"
        endless.touch()
        text = matrix.shell(f"tail -f {endless}")
        self.prompt = asyncio.create_task(driver.prompt(session, text))
        async with asyncio.timeout(60):
            while not home_processes.running("tail", "-f", str(endless)):
                if self.prompt.done():
                    raise AssertionError(f"the turn ended without the tool: {self.prompt}")
                await asyncio.sleep(0.02)
        return driver

    async def __aexit__(self, *_: object) -> None:
        if self.prompt is not None:
            self.prompt.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await self.prompt
        await self._driver.delete()


def _answer_question(params: Mapping[str, Any]) -> dict[str, Any]:
    """The answer Red, in the form of the request."""
    if "requestedSchema" in params:
        properties = params["requestedSchema"]["properties"]
        name = next(key for key, schema in properties.items() if "oneOf" in schema or "enum" in schema)
        return {"action": "accept", "content": {name: "Red"}}
    if "options" in params:
        return {**allow(params), "answers": {"0": "Red"}}
    return {"outcome": "accepted", "answers": {params["questions"][0]["question"]: "Red"}}


_IN_A_SESSION: dict[str, Callable[[Matrix, Driver], Awaitable[str | None]]] = {
    "text": Matrix._text,
    "thought": Matrix._thought,
    "tool allowed": Matrix._tool_allowed,
    "tool rejected": Matrix._tool_rejected,
    "question": Matrix._question,
    "cancel": Matrix._cancel,
    "second session": Matrix._second_session,
}
CHECKS = (
    *("install", "initialize", "session/new", *_IN_A_SESSION),
    *("load after restart", "DELETE in mid-tool", "agent killed in mid-tool"),
)
