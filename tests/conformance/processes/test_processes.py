"""Processes: start, list, state, limits, the faults of requests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.clients.acp import Acp
from tests.support.clients.process_api import JSON, Processes
from tests.support.problems import assert_problem


@pytest.mark.clause("processes-wire")
def test_a_process_is_told_from_its_start_to_its_exit(processes: Processes) -> None:
    created = processes.ok("POST", "", {"command": "sh", "args": ["-c", "read line; exit 3"], "cwd": "/usr"})
    assert list(created) == [
        *("id", "command", "args", "cwd", "tty", "interactive", "owner", "status", "pid", "createdAtMs")
    ]
    assert (created["status"], created["owner"], created["cwd"]) == ("running", "user", "/usr")
    processes.ok("POST", f"/{created['id']}/input", {"data": "go\n", "encoding": "text"})
    exited = processes.wait_for_exit(created["id"])
    assert (exited["status"], exited["exitCode"]) == ("exited", 3)
    assert "pid" not in exited and exited["exitedAtMs"] >= exited["createdAtMs"]


@pytest.mark.ours
@pytest.mark.clause("processes-exit")
def test_a_signal_is_told_by_its_name(processes: Processes) -> None:
    process = processes.shell("kill -9 $$")
    exited = processes.wait_for_exit(process)
    assert "exitCode" not in exited and exited["signal"] == "SIGKILL"
    assert processes.follow(process)[-1] == ("exit", {"exitCode": None, "signal": "SIGKILL"})


@pytest.mark.clause("processes-list")
@pytest.mark.defect("D14")
def test_the_list_is_in_the_order_of_the_starts(processes: Processes) -> None:
    started = [processes.shell("exit 0") for _ in range(11)]
    assert [row["id"] for row in processes.ok("GET", "")["processes"]][-11:] == started
    assert processes.ok("GET", "?owner=desktop")["processes"] == []
    assert len(processes.ok("GET", "?owner=user")["processes"]) >= 11


@pytest.mark.clause("processes-wire")
def test_a_deleted_process_is_gone_and_its_number_is_not_used_again(processes: Processes) -> None:
    process = processes.shell("exit 0")
    processes.wait_for_exit(process)
    assert processes.request("DELETE", f"/{process}").status == 204
    problem = assert_problem(processes.request("GET", f"/{process}"), 404, "not_found")
    assert problem["detail"] == f"not found: process {process}"
    assert problem["details"] == {"id": process, "resource": "process"}
    assert processes.shell("exit 0") != process


@pytest.mark.clause("processes-wire")
def test_a_running_process_cannot_be_deleted(processes: Processes) -> None:
    process = processes.create("cat")
    assert_problem(processes.request("DELETE", f"/{process}"), 409, "conflict")


@pytest.mark.clause("processes-list")
@pytest.mark.defect("D28")
def test_a_failed_start_uses_up_no_number(processes: Processes) -> None:
    before = int(processes.shell("exit 0").removeprefix("proc_"))
    assert processes.request("POST", "", {"command": "no-such-program"}).status >= 400
    assert processes.shell("exit 0") == f"proc_{before + 1}"


@pytest.mark.clause("processes-faults")
@pytest.mark.defect("D26")
@pytest.mark.parametrize("tty", [False, True])
@pytest.mark.parametrize(
    ("body", "subject"),
    [
        ({"command": "no-such-program"}, "command 'no-such-program'"),
        ({"command": "./missing"}, "command './missing'"),
        ({"command": "/etc/passwd"}, "command '/etc/passwd'"),
        ({"command": "ls", "cwd": "/no/such/directory"}, "directory '/no/such/directory'"),
        ({"command": "ls", "cwd": "/etc/passwd"}, "directory '/etc/passwd'"),
    ],
)
def test_a_typo_is_an_error_of_the_request(
    processes: Processes, body: dict[str, str], subject: str, tty: bool
) -> None:
    problem = assert_problem(processes.request("POST", "", {**body, "tty": tty}), 400, "invalid_request")
    assert subject in problem["detail"]
    assert processes.ok("GET", "")["processes"] == []


@pytest.mark.clause("processes-faults")
@pytest.mark.defect("D26")
@pytest.mark.parametrize(
    "body",
    [
        {},
        {"command": 5},
        {"command": " "},
        {"command": ""},
        {"command": "sh\0"},
        {"command": "sh", "args": "x"},
        {"command": "sh", "args": [1]},
        {"command": "sh", "args": ["\0"]},
        {"command": "sh", "args": None},
        {"command": "sh", "env": {"A": 1}},
        {"command": "sh", "env": {"A=B": "x"}},
        {"command": "sh", "env": {"": "x"}},
        {"command": "sh", "cwd": "a\0b"},
    ],
)
@pytest.mark.parametrize("path", ["", "/run"])
def test_a_body_of_the_wrong_shape_is_400(processes: Processes, body: object, path: str) -> None:
    assert_problem(processes.request("POST", path, body), 400, "invalid_request")


@pytest.mark.clause("processes-faults")
@pytest.mark.defect("D26")
@pytest.mark.parametrize(
    ("method", "path", "status", "kind"),
    [
        ("GET", "/proc_999999", 404, "not_found"),
        ("DELETE", "/proc_999999", 404, "not_found"),
        ("POST", "/proc_999999/stop", 404, "not_found"),
        ("POST", "/proc_999999/kill", 404, "not_found"),
        ("GET", "/proc_999999/logs", 404, "not_found"),
        ("GET", "/proc_999999/logs?follow=true", 404, "not_found"),
        ("GET", "/proc_999999/terminal/ws", 400, "invalid_request"),
        ("GET", "?owner=other", 400, "invalid_request"),
        ("GET", "/x/logs?follow=1", 400, "invalid_request"),
        ("GET", "/x/logs?tail=-1", 400, "invalid_request"),
        ("GET", "/x/logs?stream=x", 400, "invalid_request"),
        ("GET", "/x/logs?since=99999999999999999999", 400, "invalid_request"),
        ("GET", "/x/logs?tail=1&tail=2", 400, "invalid_request"),
        ("POST", "/proc_999999/stop?waitMs=x", 404, "not_found"),
        ("PUT", "", 405, "method_not_allowed"),
        ("GET", "/run/x/y/z", 404, "not_found"),
    ],
)
def test_faults_are_problem_documents(
    processes: Processes, method: str, path: str, status: int, kind: str
) -> None:
    assert_problem(processes.request(method, path), status, kind)


@pytest.mark.clause("processes-faults")
def test_what_is_not_json_is_415_or_400(processes: Processes) -> None:
    answer = processes.request("POST", "", {"command": "ls"}, headers={"content-type": "text/plain"})
    assert_problem(answer, 415, "unsupported_media_type")
    answer = processes.client.request("POST", "/v1/processes", headers=JSON, body=b"{")
    assert_problem(answer, 400, "invalid_request")


@pytest.mark.clause("processes-limits")
@pytest.mark.defect("D22")
def test_the_limit_counts_running_processes_and_runs(processes: Processes) -> None:
    processes.set_config(maxConcurrentProcesses=1)
    process = processes.create("cat")
    assert_problem(processes.request("POST", "", {"command": "cat"}), 409, "conflict")
    assert_problem(processes.request("POST", "/run", {"command": "true"}), 409, "conflict")
    assert processes.request("POST", "", {"command": " "}).status == 400
    processes.ok("POST", f"/{process}/kill")
    assert processes.run("exit 0")["exitCode"] == 0


@pytest.mark.clause("processes-wire")
def test_the_config_is_replaced_as_a_whole_and_checked(processes: Processes) -> None:
    config = processes.ok("GET", "/config")
    assert list(config) == [
        *("maxConcurrentProcesses", "defaultRunTimeoutMs", "maxRunTimeoutMs", "maxOutputBytes"),
        *("maxLogBytesPerProcess", "maxInputBytesPerRequest"),
    ]
    processes.set_config(defaultRunTimeoutMs=9000, maxRunTimeoutMs=5000)
    assert processes.ok("GET", "/config")["defaultRunTimeoutMs"] == 5000
    for name in config:
        assert_problem(processes.request("POST", "/config", {**config, name: 0}), 400, "invalid_request")
        missing = {key: value for key, value in config.items() if key != name}
        assert_problem(processes.request("POST", "/config", missing), 400, "invalid_request")


@pytest.mark.clause("processes-environment")
def test_the_environment_is_added_to_that_of_the_server_without_its_token(processes: Processes) -> None:
    text = processes.run("env", env={"EXTRA": "1", "PATH": "/bin:/usr/bin"})["stdout"]
    assert "EXTRA=1\n" in text and "HOME=" in text and "PATH=/bin:/usr/bin\n" in text
    assert "SANDBOX_AGENT_TOKEN" not in text


@pytest.mark.clause("processes-environment")
@pytest.mark.defect("D24")
def test_the_token_of_the_server_is_in_no_environment(start_server) -> None:
    server = start_server(settings={"SANDBOX_AGENT_TOKEN": "secret-of-the-tests"})
    processes = Processes(server.client)
    assert server.token not in processes.run("env; cat /proc/self/environ")["stdout"]
    for tty in (False, True):
        process = processes.shell("env", tty=tty)
        processes.wait_for_exit(process)
        assert b"HOME=" in processes.output(process)
        assert server.token.encode() not in processes.output(process)


@pytest.mark.clause("processes-wire")
def test_a_command_without_a_slash_is_found_in_the_path_of_the_request(
    processes: Processes, tmp_path: Path
) -> None:
    program = tmp_path / "hello"
    program.write_text("#!/bin/sh\necho hello\n")
    program.chmod(0o755)
    answer = processes.ok("POST", "/run", {"command": "hello", "env": {"PATH": f"{tmp_path}:/bin"}})
    assert answer["stdout"] == "hello\n"
    answer = processes.ok("POST", "/run", {"command": "./hello", "cwd": str(tmp_path)})
    assert answer["stdout"] == "hello\n"


@pytest.mark.clause("processes-descriptors")
@pytest.mark.defect("D3")
def test_no_process_has_a_descriptor_of_another(processes: Processes, acp: Acp) -> None:
    terminals = [processes.create("cat", tty=True) for _ in range(3)]
    listing = processes.run("ls -l /proc/self/fd")["stdout"]
    assert "ptmx" not in listing and "socket" not in listing and "anon_inode" not in listing
    inside = processes.shell("ls -l /proc/self/fd", tty=True)
    processes.wait_for_exit(inside)
    assert b"ptmx" not in processes.output(inside)
    agent = acp.call(acp.start(), "test/info")
    assert set(agent["fds"]) <= {0, 1, 2, 3}  # the last one is that of the listing
    assert all(processes.info(terminal)["status"] == "running" for terminal in terminals)


@pytest.mark.clause("processes-records")
@pytest.mark.defect("D15")
def test_records_of_exited_processes_are_bounded(start_server) -> None:
    processes = Processes(start_server(settings={"SANDBOX_AGENT_MAX_EXITED_PROCESSES": "3"}).client)
    running = processes.create("cat")
    for _ in range(6):
        processes.wait_for_exit(processes.shell("exit 0"))
    rows = processes.ok("GET", "")["processes"]
    assert [row["id"] for row in rows] == [running, "proc_5", "proc_6", "proc_7"]


@pytest.mark.ours
@pytest.mark.clause("processes-switch")
def test_processes_can_be_switched_off(start_server) -> None:
    processes = Processes(start_server(arguments=["--processes", "off"]).client)
    for method, path, body in [
        ("GET", "", None),
        ("POST", "", {"command": "ls"}),
        ("POST", "/run", {"command": "ls"}),
        ("GET", "/config", None),
        ("GET", "/proc_1", None),
        ("POST", "/proc_1/kill", None),
    ]:
        problem = assert_problem(processes.request(method, path, body), 404, "not_found")
        assert "--processes off" in problem["detail"]


@pytest.mark.ours
@pytest.mark.clause("processes-switch")
def test_the_file_root_binds_working_directories(start_server, tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "inside").mkdir(parents=True)
    (root / "link").symlink_to("/etc")
    processes = Processes(start_server(arguments=["--fs-root", str(root)]).client)
    assert processes.run("pwd")["stdout"] == f"{root}\n"
    assert processes.run("pwd", cwd="inside")["stdout"] == f"{root}/inside\n"
    assert processes.run("pwd", cwd=f"{root}/inside/..")["stdout"] == f"{root}\n"
    for outside in ("/etc", "..", "link", "/"):
        answer = processes.request("POST", "/run", {"command": "pwd", "cwd": outside})
        assert_problem(answer, 403, "permission_denied")
    answer = processes.request("POST", "/run", {"command": "pwd", "cwd": "missing"})
    assert_problem(answer, 404, "not_found")
