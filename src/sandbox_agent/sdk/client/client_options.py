"""The keyword arguments that `connect` and `start` share."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import TypedDict

import httpx

from sandbox_agent.sdk.resources.install_progress import OnInstallProgress
from sandbox_agent.sdk.session.history.restorer import RestorePolicy
from sandbox_agent.sdk.session.permissions.permission_request import OnPermission
from sandbox_agent.sdk.session.permissions.question import OnQuestion
from sandbox_agent.sdk.stores import SessionStore

StoreLike = SessionStore | str | PathLike[str]
"""A store, the path of an SQLite file, or the `postgresql://` URL of a database."""


class CommonOptions(TypedDict, total=False):
    """Options of both `connect` and `start`."""

    timeout: float
    """Seconds for control requests; prompts are not limited by it. Default 60."""
    max_retries: int
    """How many times a request that is safe to repeat is repeated. Default 2."""
    network_patience: float
    """Seconds without a sign of the server after which waiting calls fail. Default 60; at least 20."""
    headers: Mapping[str, str]
    """Sent with every request."""
    store: StoreLike | None
    """Where sessions are kept. Default: in memory."""
    store_patience: float
    """Seconds without success after which waiting for the store raises its error. Default 60."""
    on_permission: OnPermission | None
    on_question: OnQuestion | None
    permission_timeout: float | None
    """Seconds after which an unanswered permission request is cancelled; it is never approved."""
    elicitation: bool | None
    """Whether agents may ask with forms, as Claude and Codex do. Default: yes."""
    acp_version: int
    """The version of ACP that agents are offered: 1, or 2 for the draft. Each agent answers with its own."""
    restore: RestorePolicy
    """The allowed ways to restore a session. Default `auto`: the best one that works."""
    replay_max_events: int
    """How many events an agent that cannot restore a session is given as text. Default 50."""
    replay_max_chars: int
    """The length limit of that text. Default 12000."""
    default_directory: str | PathLike[str] | None
    """The directory of sessions that name none."""
    callbacks_in_threads: bool
    """Run callbacks that are not async in threads. Default: True in `SandboxAgent`, else False."""
    on_install_progress: OnInstallProgress | None
    """Called while an agent is installed before it can start. Default: the progress is logged."""


class ConnectOptions(CommonOptions, total=False):
    """Further options of `connect`."""

    http_client: httpx.AsyncClient | None
    """An HTTP client of the caller; it is not closed."""
    transport: httpx.AsyncBaseTransport | None
    keep_running: bool
    """Leave agent processes running when the client closes, to reattach later. Default False."""
