"""Permission and question prompts on the terminal.

The `--approve` policy decides first. Without a terminal, permissions are refused and questions are rejected.
"""

from __future__ import annotations

import asyncio
import os
import sys

import click

from sandbox_agent.sdk.resources.models import AgentInfo
from sandbox_agent.sdk.session.permissions.permission_request import PermissionRequest, auto_approve
from sandbox_agent.sdk.session.permissions.question import REJECT, Answer, Question, Reject

READING_KINDS = frozenset({"read", "search", "think", "fetch"})
_KEYS = {"y": "once", "yes": "once", "o": "once", "a": "always", "n": "reject", "no": "reject", "r": "reject"}
_LABELS = {"once": "[y]es", "always": "[a]lways", "reject": "[n]o"}


class TerminalPrompter:
    def __init__(self, approve: str | None, *, can_ask: bool) -> None:
        self._approve = approve
        self._can_ask = can_ask
        self._prompt_lock = asyncio.Lock()

    def check_agent(self, agent: AgentInfo) -> None:
        """Refuse an agent whose tools cannot be refused, if the user wants that; else warn.

        Raises:
            click.UsageError: `--approve none` or `reads`, and the agent never asks.
        """
        if self._approve == "all":
            return
        if agent.never_asks:
            text = f"{agent.id} never asks for permission: every tool it uses runs"
            if self._approve is not None:
                raise click.UsageError(f"{text}. Use --approve all to run it nevertheless.")
            click.secho(text, fg="yellow", err=True)
        elif agent.permission_requests == "partly" and self._approve is not None:
            text = f"{agent.id} does not ask before every tool; docs/agents.md says when it does"
            click.secho(text, fg="yellow", err=True)

    async def decide(self, request: PermissionRequest) -> str:
        """`once`, `always` or `reject`."""
        reads = self._approve == "reads" and request.kind in READING_KINDS
        if self._approve == "all" or reads:
            _notice(f"allowed: {request.action}")
            return auto_approve(request)
        if self._approve == "none" or not self._can_ask:
            _notice(f"refused: {request.action}")
            return "reject"
        async with self._prompt_lock:
            return await self._ask_permission(request)

    async def answer(self, question: Question) -> Answer | Reject:
        if not self._can_ask:
            _notice(f"not answered: {question.prompt}")
            return REJECT
        async with self._prompt_lock:
            return await self._ask_question(question)

    async def _ask_permission(self, request: PermissionRequest) -> str:
        offered = request.available_replies
        choices = ", ".join(_LABELS[reply] for reply in offered)
        click.secho(f"\nThe agent wants to: {request.action}", fg="yellow", bold=True, err=True)
        while True:
            line = await _read_line(f"Allow? {choices}: ")
            if line is None:
                return "reject"
            reply = _KEYS.get(line.strip().lower(), line.strip().lower())
            if reply in offered:
                return reply

    async def _ask_question(self, question: Question) -> Answer | Reject:
        click.secho(f"\n{question.prompt}", fg="yellow", bold=True, err=True)
        for number, option in enumerate(question.options, 1):
            detail = f" - {option.description}" if option.description else ""
            click.echo(f"  {number}. {option.label}{detail}", err=True)
        several = ", several with commas" if question.multi_select else ""
        hint = f"number or text{several}" if question.options else "your answer"
        while True:
            line = await _read_line(f"{hint} (empty: no answer): ")
            if line is None or not line.strip():
                return REJECT
            parts = [part.strip() for part in line.split(",")] if question.multi_select else [line.strip()]
            answers = [_chosen(question, part) for part in parts if part]
            if answers and all(answer is not None for answer in answers):
                return [answer for answer in answers if answer is not None]
            click.echo("this is not one of the answers", err=True)


def _chosen(question: Question, part: str) -> str | None:
    """The value for a number, a value or a label; None if the question has no such option."""
    if not question.options:
        return part
    if part.isdigit() and 1 <= int(part) <= len(question.options):
        return question.options[int(part) - 1].value
    for option in question.options:
        if part.lower() in (option.value.lower(), option.label.lower()):
            return option.value
    return part if question.allow_other else None


async def _read_line(prompt: str) -> str | None:
    """A line from the terminal; None at its end. A thread that blocks in `input` could not be ended."""
    click.echo(prompt, err=True, nl=False)
    sys.stderr.flush()
    loop = asyncio.get_running_loop()
    descriptor = sys.stdin.fileno()
    received = bytearray()
    while not received.endswith(b"\n"):
        readable = asyncio.Event()
        loop.add_reader(descriptor, readable.set)
        try:
            await readable.wait()
        finally:
            loop.remove_reader(descriptor)
        chunk = os.read(descriptor, 4096)
        if not chunk:
            return None
        received += chunk
    return received.decode("utf-8", "replace").rstrip("\r\n")


def _notice(text: str) -> None:
    click.secho(text, dim=True, err=True)
