"""Run a command in which system calls fail, as in a sandbox that does not have them.

    without_calls.py pidfd_open=ENOSYS prlimit64:1=10=EPERM -- command ...

`name:INDEX=VALUE=ERROR` refuses a call only if that argument has that value. A seccomp filter makes the
calls fail in the command and all its descendants.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys
from collections.abc import Sequence
from pathlib import Path

_NUMBERS = {
    "x86_64": {
        "copy_file_range": 326,
        "openat2": 437,
        "pidfd_open": 434,
        "pidfd_send_signal": 424,
        "prlimit64": 302,
    },
    "aarch64": {
        "copy_file_range": 285,
        "openat2": 437,
        "pidfd_open": 434,
        "pidfd_send_signal": 424,
        "prlimit64": 261,
    },
}
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _FAIL_WITH = 0x7FFF0000, 0x00050000
_FIRST_ARGUMENT = 16
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _FILTER_MODE = 38, 22, 2


def without_calls(*rules: str) -> list[str]:
    """The command line to put before a command, whose first word is a path."""
    return [sys.executable, str(Path(__file__)), *rules, "--"]


def _filter(rules: Sequence[str]) -> bytes:
    program = [(_LOAD, 0, 0, 0)]
    for rule in rules:
        call, _, error = rule.rpartition("=")
        name, _, argument = call.partition(":")
        number = _NUMBERS[platform.machine()][name]
        failure = (_RETURN, 0, 0, _FAIL_WITH | getattr(errno, error))
        if argument:
            index, _, value = argument.partition("=")
            program += [
                (_JUMP_IF_EQUAL, 0, 4, number),
                (_LOAD, 0, 0, _FIRST_ARGUMENT + 8 * int(index)),
                (_JUMP_IF_EQUAL, 0, 1, int(value)),
                failure,
                (_LOAD, 0, 0, 0),
            ]
        else:
            program += [(_JUMP_IF_EQUAL, 0, 1, number), failure]
    program.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("HBBI", *instruction) for instruction in program)


def main() -> None:
    split = sys.argv.index("--")
    code = _filter(sys.argv[1:split])
    buffer = ctypes.create_string_buffer(code, len(code))
    description = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(buffer))
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "no_new_privs")
    if library.prctl(_PR_SET_SECCOMP, _FILTER_MODE, ctypes.c_char_p(description), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "seccomp")
    command = sys.argv[split + 1 :]
    os.execv(command[0], command)  # noqa: S606 - the command of a test


if __name__ == "__main__":
    main()
