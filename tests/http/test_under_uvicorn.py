"""The ASGI application under uvicorn passes the conformance suite of the server command.

All of the suite runs, except for what uvicorn or the process around it decides. Each exception is listed with
its reason; a whole file is listed by its name alone.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CONFORMANCE = ROOT / "tests" / "conformance"
SERVER = ROOT / "tests" / "support" / "uvicorn_server.py"

COMMAND_LINE = "the command line, its exit codes and its messages belong to the server command"
SIGNALS = "signals and the end of the process belong to the process that runs the application"
PROCESS_WIDE = (
    "only the server command adopts orphans and starts the watchdog: both concern the whole process"
)
PARSER = "uvicorn answers requests that it cannot read, in its own words"
LIMITS = "uvicorn has its own limits and time-outs for heads and bodies"
REQUEST_LOG = "uvicorn has its own log of requests"

SERVER_COMMAND_ONLY = {
    "test_server_flags.py": COMMAND_LINE,
    "test_shutdown.py": SIGNALS,
    "test_cors.py::test_a_malformed_cors_flag_is_exit_2_and_said_on_stderr": COMMAND_LINE,
    "test_host_and_origin.py::test_on_other_addresses_the_host_is_not_looked_at": COMMAND_LINE,
    "test_launch.py::test_the_argument_orders_of_the_published_sdk_are_understood": COMMAND_LINE,
    "test_slow_install.py::test_a_server_that_is_installing_stops_in_time": SIGNALS,
    "test_replay_and_gaps.py::test_leftover_spill_files_of_a_dead_server_are_removed_at_start": SIGNALS,
    "test_replay_and_gaps.py::test_two_servers_may_share_a_data_directory": SIGNALS,
    "test_process_trees.py::test_no_dead_child_is_left_uncollected_whatever_it_looks_like": PROCESS_WIDE,
    "test_process_trees.py::test_the_end_of_the_server_ends_every_tree": PROCESS_WIDE,
    "test_process_trees.py::test_server_killed_while_agents_flood_and_hold_requests": PROCESS_WIDE,
    "test_endpoints.py::test_a_method_that_nobody_knows_is_405_too_and_ends_the_connection": PARSER,
    "test_http_protocol.py::test_a_malformed_request_is_a_400_problem_and_the_connection_ends": PARSER,
    "test_http_protocol.py::test_unknown_methods_are_problems": PARSER,
    "test_http_protocol.py::test_two_different_hosts_are_refused": "uvicorn accepts a second Host header",
    "test_http_protocol.py::test_a_half_closed_client_still_gets_its_answer": (
        "uvicorn takes the end of a client's data for the end of the client"
    ),
    "test_limits.py::test_headers_over_64_kib_are_431": LIMITS,
    "test_limits.py::test_many_small_headers_are_431_too": LIMITS,
    "test_limits.py::test_a_request_line_that_never_ends_is_refused": LIMITS,
    "test_limits.py::test_a_head_slower_than_its_time_is_408": LIMITS,
    "test_limits.py::test_a_body_slower_than_its_time_is_408": LIMITS,
    "test_logs.py::test_request_lines_can_be_switched_on": REQUEST_LOG,
}


@pytest.mark.timeout(900)
def test_the_application_under_uvicorn_passes_the_conformance_suite() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--durations=0"]
    exceptions = [f"--deselect=tests/conformance/{name}" for name in SERVER_COMMAND_ONLY]
    done = subprocess.run(
        [*command, *exceptions, "tests/conformance"],
        cwd=ROOT,
        env={**os.environ, "SANDBOX_AGENT_CONFORMANCE_COMMAND": shlex.join([sys.executable, str(SERVER)])},
        capture_output=True,
        text=True,
        timeout=890,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert " passed" in done.stdout


@pytest.mark.parametrize("name", SERVER_COMMAND_ONLY)
def test_every_exception_names_a_test(name: str) -> None:
    file, _, function = name.partition("::")
    assert f"def {function}" in (CONFORMANCE / file).read_text("utf-8")
