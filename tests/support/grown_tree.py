"""The process tree of a scripted agent: children, sessions of their own, double forks, empty environments."""

from __future__ import annotations

from tests.support.clients.acp import Acp
from tests.support.processes import is_alive

FORKS = ["test/fork_plain", "test/fork_setsid", "test/double_fork", "test/double_fork_clean_env"]


def grow_tree(acp: Acp, server_id: str, *, stubborn: bool) -> list[dict]:
    """Start one process of each kind; the processes, the agent last. Stubborn ones ignore signals."""
    tree = [acp.call(server_id, method, {"ignore_signals": stubborn}) for method in FORKS]
    tree.append(acp.call(server_id, "test/fork_plain", {"hold_stdout": True, "ignore_signals": stubborn}))
    if stubborn:
        acp.call(server_id, "test/ignore_signals")
    tree.append(acp.call(server_id, "test/info"))
    assert all(is_alive(one) for one in tree)
    return tree
