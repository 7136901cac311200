from __future__ import annotations

import pytest

from sandbox_agent.http.loopback import is_loopback


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST", "127.0.0.1", "127.1.2.3", "::1", "[::1]"])
def test_loopback_names_and_addresses(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host",
    ["127.example.org", "127.0.0.1.example.org", "127.", "0.0.0.0", "::", "", "example.org", "10.0.0.1"],
)
def test_other_names_and_addresses(host: str) -> None:
    assert not is_loopback(host)
