"""Servers for these tests come from the conformance suite: they must end cleanly and leave no process."""

from __future__ import annotations

from tests.conformance.conftest import http_server, start_server

__all__ = ["http_server", "start_server"]
