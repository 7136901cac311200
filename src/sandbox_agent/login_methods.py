"""Login methods of agents that take an API key from their environment; one list for server and SDK."""

from __future__ import annotations

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
