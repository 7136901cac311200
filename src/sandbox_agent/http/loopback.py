"""Which host names and addresses belong to this machine only."""

from __future__ import annotations

_USUAL_NAMES = ("localhost", "127.0.0.1", "::1", "[::1]")


def is_loopback(host: str) -> bool:
    """Whether `host` is `localhost` or a loopback address; an IPv6 address may stand in brackets."""
    if host.lower() in _USUAL_NAMES:
        return True
    import ipaddress  # not for the usual names, which are compared first

    try:
        return ipaddress.ip_address(host.removeprefix("[").removesuffix("]")).is_loopback
    except ValueError:
        return False
