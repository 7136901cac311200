"""Login methods of agents that take an API key from their environment; one list for server and SDK."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

KEY_LOGINS = (
    "codex-api-key",
    "openai-api-key",
    "anthropic-api-key",
    "api-key",
    "gemini-api-key",
    "xai.api_key",
    "openai",
)
"""Methods of `authenticate`, in order of preference."""


def key_login(initialized: Mapping[str, Any]) -> str | None:
    """The method that confirms an API key, of those in the answer to `initialize`; None if there is none."""
    methods = initialized.get("authMethods") or ()
    offered = [method.get("id") for method in methods if isinstance(method, dict)]
    return next((login for login in KEY_LOGINS if login in offered), None)
