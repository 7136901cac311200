"""Which version this is."""

from __future__ import annotations


def version() -> str:
    """The version of the installed package."""
    from importlib.metadata import version as installed_version  # not needed by most commands

    return installed_version("sandbox-agent")
