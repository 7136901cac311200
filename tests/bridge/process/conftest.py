"""Servers for tests of processes, as in the conformance suite."""

from tests.conformance.conftest import http_server, start_server

__all__ = ["http_server", "start_server"]
