"""Tags: which numbers they are, and what a process can do to them."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys

import pytest

from sandbox_agent.bridge.process.tree import tags
from tests.support.grown_tree import grow_tree
from tests.support.processes import wait_until_dead
from tests.support.server_process import ServerProcess

OUTER = tags.instance_tag(tags.new_server_tag(), 7)


def test_a_number_that_is_no_tag_is_not_taken_for_one() -> None:
    line = b"Max file locks            %b                %b           locks     \n"
    assert tags.tag_in_limits(line % (b"%d" % OUTER, b"%d" % OUTER)) == OUTER
    for other in (b"5", b"unlimited", b"0", b"%d" % (1 << 61 - 1), b"%d" % (1 << 62)):
        assert tags.tag_in_limits(line % (other, b"unlimited")) is None


def test_the_soft_and_the_hard_limit_are_set() -> None:
    child = subprocess.Popen(["/bin/sleep", "600"])
    try:
        tags.tag_process(child.pid, OUTER)
        assert tags.tag_of(child.pid) == OUTER
        assert resource.prlimit(child.pid, tags.RLIMIT_LOCKS) == (OUTER, OUTER)
        assert tags.is_below_a_tag(child.pid)
    finally:
        child.kill()
        child.wait()


def test_servers_within_servers_have_ever_lower_tags() -> None:
    program = (
        "import resource\n"
        "from sandbox_agent.bridge.process.tree import tags\n"
        f"hard = {OUTER}\n"
        "for _ in range(10):\n"
        "    resource.setrlimit(tags.RLIMIT_LOCKS, (hard, hard))\n"
        "    inner = tags.instance_tag(tags.new_server_tag(), 2**24 - 1)\n"
        "    assert inner < hard\n"
        "    hard = inner\n"
    )
    subprocess.run([sys.executable, "-c", program], timeout=60, check=True)


@pytest.mark.process
@pytest.mark.clause("promise-H")
@pytest.mark.parametrize("ending", ["DELETE", "SIGKILL"])
def test_a_server_in_the_tree_of_another_server_ends_its_own_trees(start_server, ending: str) -> None:
    limited = ["sh", "-c", f'ulimit -w {OUTER} || ulimit -x {OUTER}; exec "$@"', "sh"]
    server: ServerProcess = start_server(prefix=limited)
    server_id = server.acp.start()
    people = grow_tree(server.acp, server_id, stubborn=True)
    if ending == "DELETE":
        assert server.acp.delete(server_id).status == 204
    else:
        server.signal(signal.SIGKILL)
        server.wait_for_exit(5)
    wait_until_dead(people, 5)
    assert "process_tags.unavailable" not in server.log()
