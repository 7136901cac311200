"""The version of the installed package; `pyproject.toml` is where it is written."""

from __future__ import annotations

from importlib.metadata import version as installed_version


def version() -> str:
    return installed_version("sandbox-agent")
