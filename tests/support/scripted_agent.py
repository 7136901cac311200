"""A stdio agent whose behaviour the test chooses.

It reads JSON-RPC lines and does what the method's name says (`test/echo`, `test/flood`, ...); the table
at the end of the file lists them all. A request is answered unless the behaviour is to stay silent; an
unknown method gets a JSON-RPC error, so nothing here is ACP. It needs only the standard library and no
`site`, starts in a few milliseconds, and can record the exact bytes that reached its stdin.
"""

import json
import os
import signal
import sys
import threading
import time
from typing import Any

Params = dict[str, Any]

stdout_lock = threading.Lock()
held_ids: list[Any] = []
scripted_replies: list[bytes] = []
flood_stop = threading.Event()
NO_ANSWER = object()


class State:
    record_fd = -1
    ignore_eof = False
    reading = True


def write_raw(data: bytes) -> None:
    with stdout_lock:
        view = memoryview(data)
        while view:
            written = os.write(1, view[: 1 << 20])
            view = view[written:]


def send(message: dict[str, Any]) -> None:
    write_raw(json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode() + b"\n")


def later(milliseconds: float, action: Any) -> None:
    if milliseconds <= 0:
        action()
        return
    timer = threading.Timer(milliseconds / 1000, action)
    timer.daemon = True
    timer.start()


def start_time(pid: int) -> int:
    with open(f"/proc/{pid}/stat", "rb") as stat:
        return int(stat.read().rpartition(b")")[2].split()[19])


def echo(params: Params, _id: Any) -> Any:
    return {"pid": os.getpid(), "echo": params}


def info(_params: Params, _id: Any) -> Any:
    return {
        "pid": os.getpid(),
        "ppid": os.getppid(),
        "pgid": os.getpgrp(),
        "sid": os.getsid(0),
        "cwd": os.getcwd(),
        "argv": sys.argv,
        "env": dict(os.environ),
        "fds": sorted(int(fd) for fd in os.listdir("/proc/self/fd")),
        "started": start_time(os.getpid()),
    }


def record(params: Params, _id: Any) -> Any:
    State.record_fd = os.open(params["path"], os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    return {"recording": True}


def reply_to_next_line(params: Params, _id: Any) -> Any:
    scripted_replies.append(bytes.fromhex(params["hex"]))
    return {"armed": len(scripted_replies)}


def write(params: Params, _id: Any) -> Any:
    data = bytes.fromhex(params["hex"])
    later(params.get("after_ms", 0), lambda: write_raw(data))
    return {"wrote": len(data)} if params.get("answer", True) else NO_ANSWER


def garbage(params: Params, _id: Any) -> Any:
    write_raw(params.get("text", "this is not JSON").encode() + b"\n")
    return {"wrote": True}


def big_line(params: Params, request_id: Any) -> Any:
    """One line of at least `bytes` bytes: the answer itself, or a notification if there is no id."""
    pad = "x" * params["bytes"]
    if params.get("as_answer", True) and request_id is not NO_ANSWER:
        return {"pad": pad}
    send({"method": "test/big", "params": {"pad": pad}})
    return {"sent": params["bytes"]}


def half_line_exit(params: Params, request_id: Any) -> Any:
    answer = {"jsonrpc": "2.0", "id": request_id, "result": {"last": True}}
    write_raw(json.dumps(answer, separators=(",", ":")).encode())
    os._exit(params.get("code", 0))


def flood(params: Params, _id: Any) -> Any:
    """`count` numbered notifications of about `size` bytes, `batch` a write, pausing `pause_ms` between."""

    def run() -> None:
        pad = b"p" * params.get("size", 0)
        tick = b'{"jsonrpc":"2.0","method":"test/tick","params":{"n":%d,"pad":"' + pad + b'"}}\n'
        first, count, batch = params.get("first", 1), params["count"], params.get("batch", 200)
        for start in range(first, first + count, batch):
            if flood_stop.is_set():
                return
            write_raw(b"".join(tick % n for n in range(start, min(start + batch, first + count))))
            if params.get("pause_ms"):
                time.sleep(params["pause_ms"] / 1000)

    if params.get("background"):
        threading.Thread(target=run, daemon=True).start()
        return {"started": True}
    run()
    return {"sent": params["count"]}


def stop_flood(_params: Params, _id: Any) -> Any:
    flood_stop.set()
    return {"stopped": True}


def ask_client(params: Params, _id: Any) -> Any:
    send({"id": params.get("id", "ask-1"), "method": params.get("method", "client/ask"), "params": {}})
    return {"asked": True} if params.get("answer", True) else NO_ANSWER


def silent(_params: Params, _id: Any) -> Any:
    return NO_ANSWER


def answer_after(params: Params, request_id: Any) -> Any:
    later(params["ms"], lambda: send({"id": request_id, "result": {"late": params["ms"]}}))
    return NO_ANSWER


def hold(_params: Params, request_id: Any) -> Any:
    held_ids.append(request_id)
    return NO_ANSWER


def release(_params: Params, _id: Any) -> Any:
    while held_ids:
        send({"id": held_ids.pop(0), "result": {"released": True}})
    return {"released": True}


def stderr(params: Params, _id: Any) -> Any:
    data = params.get("text", "").encode() or b"e" * 79 + b"\n"
    total = params.get("bytes", len(data))
    block = data * max(1, min(total, 1 << 16) // len(data))
    written = 0
    while written < total:
        written += os.write(2, block[: total - written])
    return {"wrote": written}


def exit_now(params: Params, _id: Any) -> Any:
    def leave() -> None:
        if params.get("stderr"):
            os.write(2, params["stderr"].encode())
        os._exit(params.get("code", 0))

    later(params.get("after_ms", 0), leave)
    return NO_ANSWER


def kill_self(params: Params, _id: Any) -> Any:
    os.kill(os.getpid(), params.get("signal", signal.SIGKILL))
    return NO_ANSWER


def ignore_signals(_params: Params, _id: Any) -> Any:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    State.ignore_eof = True
    return {"pid": os.getpid()}


def stop_reading(_params: Params, _id: Any) -> Any:
    State.reading = False
    return {"reading": False}


def close_stdout(_params: Params, _id: Any) -> Any:
    os.close(1)
    State.ignore_eof = True
    return NO_ANSWER


def spawn(params: Params, *, new_session: bool, double: bool, empty: bool) -> Any:
    """Start a child that sleeps; the child reports its pid and start time through a pipe and closes it."""
    report, tell = os.pipe()
    if os.fork() == 0:
        if new_session:
            os.setsid()
        if double and os.fork() > 0:
            os._exit(0)
        if params.get("ignore_signals"):
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
        os.write(tell, json.dumps({"pid": os.getpid(), "started": start_time(os.getpid())}).encode())
        if empty:
            os.closerange(0, 1024)
        elif not params.get("hold_stdout"):
            os.closerange(0, 3)
        os.execve("/bin/sleep", ["sleep", "600"], {} if empty else os.environ)  # noqa: S606 - the point
    os.close(tell)
    if double:
        os.wait()
    told = os.read(report, 4096)
    os.close(report)
    return json.loads(told)


def fork_plain(params: Params, _id: Any) -> Any:
    return spawn(params, new_session=False, double=False, empty=False)


def fork_setsid(params: Params, _id: Any) -> Any:
    return spawn(params, new_session=True, double=False, empty=False)


def double_fork(params: Params, _id: Any) -> Any:
    return spawn(params, new_session=False, double=True, empty=False)


def double_fork_clean_env(params: Params, _id: Any) -> Any:
    return spawn(params, new_session=True, double=True, empty=True)


BEHAVIOURS = {
    "test/echo": echo,
    "test/info": info,
    "test/record": record,
    "test/reply_to_next_line": reply_to_next_line,
    "test/write": write,
    "test/garbage": garbage,
    "test/big_line": big_line,
    "test/half_line_exit": half_line_exit,
    "test/flood": flood,
    "test/stop_flood": stop_flood,
    "test/ask_client": ask_client,
    "test/silent": silent,
    "test/answer_after": answer_after,
    "test/hold": hold,
    "test/release": release,
    "test/stderr": stderr,
    "test/exit": exit_now,
    "test/kill_self": kill_self,
    "test/ignore_signals": ignore_signals,
    "test/stop_reading": stop_reading,
    "test/close_stdout": close_stdout,
    "test/fork_plain": fork_plain,
    "test/fork_setsid": fork_setsid,
    "test/double_fork": double_fork,
    "test/double_fork_clean_env": double_fork_clean_env,
}


def handle(line: bytes) -> None:
    if State.record_fd >= 0:
        view = memoryview(line + b"\n")
        while view:
            view = view[os.write(State.record_fd, view) :]
    if scripted_replies:
        write_raw(scripted_replies.pop(0))
        return
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return
    if not isinstance(message, dict):
        return
    request_id = message.get("id", NO_ANSWER)
    if "method" not in message:
        send({"method": "test/client_answered", "params": {"hex": line.hex()}})
        return
    behaviour = BEHAVIOURS.get(message["method"]) if isinstance(message["method"], str) else None
    if behaviour is None:
        if request_id is not NO_ANSWER:
            error = {"code": -32601, "message": "no such behaviour", "data": message["method"]}
            send({"id": request_id, "error": error})
        return
    params = message.get("params")
    result = behaviour(params if isinstance(params, dict) else {}, request_id)
    if result is not NO_ANSWER and request_id is not NO_ANSWER:
        send({"id": request_id, "result": result})


def main() -> None:
    parts: list[bytes] = []
    while State.reading:
        chunk = os.read(0, 1 << 20)
        if not chunk:
            break
        parts.append(chunk)
        if b"\n" not in chunk:
            continue
        *lines, rest = b"".join(parts).split(b"\n")
        parts = [rest]
        for line in lines:
            if State.reading:
                handle(line)
    if not State.reading or State.ignore_eof:
        while True:
            time.sleep(3600)


if __name__ == "__main__":
    main()
