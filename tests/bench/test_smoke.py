"""A few seconds of the benchmark against this server: it measures and checks, no figure has a limit."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from bench.cases import page, processes, requests, sdk, startup, streams, websocket
from bench.plan import SMOKE
from bench.results import report
from bench.results.budgets import FIGURES
from bench.results.measurements import Measurements
from bench.server_under_test import ServerUnderTest

from bench import process_usage, programs


@pytest.fixture(scope="module", autouse=True)
def built_programs() -> None:
    programs.build()


@pytest.fixture
def ours() -> ServerUnderTest:
    return ServerUnderTest(report.OURS, (Path(sys.executable).parent / "sandbox-agent",))


def agent_output(request: bytes) -> bytes:
    agent = [str(programs.path_of("echo_agent"))]
    done = subprocess.run(agent, input=request, stdout=subprocess.PIPE, timeout=10, check=True)
    return done.stdout


def test_the_echo_agent_answers_with_the_bytes_of_the_params() -> None:
    request = b'{"jsonrpc":"2.0","id":7,"method":"echo","params":{"b": 1.10, "a":"\xc3\xa9"}}\n'
    assert agent_output(request) == b'{"jsonrpc":"2.0","id":7,"result":{"b": 1.10, "a":"\xc3\xa9"}}\n'


def test_the_echo_agent_numbers_a_flood_from_zero() -> None:
    output = agent_output(b'{"jsonrpc":"2.0","id":7,"method":"flood","params":{"bytes":200,"count":3}}\n')
    lines = output.splitlines()
    assert [line.rpartition(b":")[2] for line in lines[:3]] == [b"0}}", b"1}}", b"2}}"]
    assert len(lines) == 4


def test_a_tiny_run_against_our_server_loses_and_alters_nothing(ours: ServerUnderTest) -> None:
    measurements = Measurements()
    for case in (startup, requests, streams, websocket):
        list(case.measure(ours, SMOKE, measurements))
    account = measurements.integrity[report.OURS]
    assert account.checked > 1000
    assert (account.lost, account.altered, account.repeated, account.refused) == (0, 0, 0, 0)
    assert "200 B, 8 connections: CPU per request" in report.table(report.rows(measurements))


def test_memory_counts_the_server_and_not_its_agents(ours: ServerUnderTest) -> None:
    with ours.running() as server:
        server.add_instances(["one"])  # the watchdog starts with the first agent, and counts
        before = set(process_usage.server_processes(server.pid))
        server.add_instances(["two", "three"])
        assert set(process_usage.server_processes(server.pid)) == before
        assert process_usage.memory(server.pid).resident_kb > 1000


def test_a_tiny_run_of_processes_has_all_figures_and_loses_nothing(ours: ServerUnderTest) -> None:
    measurements = Measurements()
    list(processes.measure(ours, SMOKE, measurements))
    assert {row.label for row in report.rows(measurements)} >= {
        "run of echo: CPU",
        "terminal, echo of a key: p50",
        "terminal, large output: delivered",
        "memory per further idle terminal",
    }
    assert measurements.median("terminal output lost", report.OURS) == 0
    account = measurements.integrity[report.OURS]
    assert (account.checked > 20, account.altered) == (True, 0)


@pytest.mark.clause("sdk-bench")
def test_the_session_agent_floods_and_the_python_client_counts_every_chunk(ours: ServerUnderTest) -> None:
    with replace(ours, agent="session_agent").running() as server:
        clients = sdk.Clients(ours, Measurements(), typescript=False)
        for case in ("turn", "turn-sync"):
            figures = clients.ours(server, "turn", case, SMOKE.sdk_chunks, store="sqlite")
            assert figures["missing"] == 0
            assert figures["cpu_us"] > 0


@pytest.mark.chromium
def test_a_tiny_run_of_the_page_measures_every_figure(ours: ServerUnderTest) -> None:
    measurements = Measurements()
    list(page.measure(ours, SMOKE, measurements))
    figures = {figure.name for figure in FIGURES if figure.name.startswith("page ")}
    assert {name for name in figures if measurements.median(name, report.OURS) is not None} == figures
