"""Log in to Codex with a key of the environment: Codex itself reads only a stored login.

CODEX_API_KEY or OPENAI_API_KEY is sent to the app-server in a request and kept only in its memory. A stored
login, or a provider that needs no OpenAI key, takes precedence.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

RequestSender = Callable[[str, Mapping[str, Any]], Awaitable[Any]]


def api_key(environ: Mapping[str, str]) -> str | None:
    """The key to log in with; None if there is none or a login is stored."""
    home = Path(environ.get("CODEX_HOME") or os.path.expanduser("~/.codex"))
    if (home / "auth.json").exists():
        return None
    return environ.get("CODEX_API_KEY") or environ.get("OPENAI_API_KEY") or None


def arguments(key: str | None) -> list[str]:
    return ["-c", 'cli_auth_credentials_store="ephemeral"'] if key else []


async def log_in(call: RequestSender, key: str | None) -> None:
    if key is None:
        return
    account = await call("account/read", {})
    if account.get("requiresOpenaiAuth") and account.get("account") is None:
        await call("account/login/start", {"type": "apiKey", "apiKey": key})
