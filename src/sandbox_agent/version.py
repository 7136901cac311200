"""The version of the installed package; `pyproject.toml` is where it is written."""

from __future__ import annotations

from functools import cache


@cache
def version() -> str:
    # Imported on first use: it takes 10 ms, and most processes do not need it.
    from importlib.metadata import version as installed_version

    return installed_version("sandbox-agent")
