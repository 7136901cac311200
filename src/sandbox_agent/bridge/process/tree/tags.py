"""Process tags: which processes belong to which agent.

Every agent process gets a tag that all its descendants inherit: its RLIMIT_LOCKS, a limit that the kernel has
ignored since 2.6, set to a random number. Unlike environment, session, descriptors or parent it survives
`setsid`, double forks, `env -i` and `closefrom`, and /proc shows it for every process, also of another user.
The hard limit is set as well, so that a process without CAP_SYS_RESOURCE cannot raise it again. Where the
kernel does not allow setting it (some sandboxes), an environment variable takes its place.

The watchdog runs this module in an isolated interpreter, so it imports only a few standard modules.
"""

from __future__ import annotations

import os

RLIMIT_LOCKS = 10
ENV_TAG = "SANDBOX_AGENT_TAG"
# A tag is the random number of the server, followed by the number of the instance in the lower bits.
_INSTANCE_BITS = 24
_NONCE_BITS = 62 - _INSTANCE_BITS
_LOWEST_NONCE, _HIGHEST_NONCE = 1 << (_NONCE_BITS - 1), (1 << _NONCE_BITS) - 1
_UNLIMITED = 1 << 64


def new_server_tag() -> int:
    """A random number that distinguishes this server's processes from those of any other server.

    A server inside the tree of another one has a hard limit, the tag of that tree, and stays below it.
    """
    import resource

    highest = _HIGHEST_NONCE
    try:
        _, hard = resource.getrlimit(RLIMIT_LOCKS)
    except (OSError, ValueError):
        hard = resource.RLIM_INFINITY  # The sandbox has no such limit (`tag_check` reports it).
    if _LOWEST_NONCE < hard >> _INSTANCE_BITS <= highest:
        highest = (hard >> _INSTANCE_BITS) - 1
    return _LOWEST_NONCE + int.from_bytes(os.urandom(8), "big") % (highest - _LOWEST_NONCE + 1)


def instance_tag(server_tag: int, number: int) -> int:
    return server_tag << _INSTANCE_BITS | number & (1 << _INSTANCE_BITS) - 1


def server_of(tag: int) -> int:
    return tag >> _INSTANCE_BITS


def tag_process(pid: int, tag: int) -> None:
    """Tag a process that was just started; processes that it starts from now on inherit the tag.

    A process that it started before, in its first microseconds, has the tag in its environment only.
    """
    import resource

    try:
        resource.prlimit(pid, RLIMIT_LOCKS, (tag, tag))
    except (OSError, ValueError):
        pass  # It has exited, is of another user (`limits`), or the kernel does not allow it.


def lacks_tag(pid: int, tag: int) -> bool:
    """Whether the limit of a process, which may be a zombie, can be read and is not the tag."""
    try:
        with open(f"/proc/{pid}/limits", "rb") as limits:
            return tag_in_limits(limits.read()) != tag
    except OSError:
        return False  # Out of descriptors.


def tag_of(pid: int) -> int | None:
    """The tag of a process; None if it has none or has exited."""
    try:
        with open(f"/proc/{pid}/limits", "rb") as limits:
            tag = tag_in_limits(limits.read())
        return _tag_in_environment(pid) if tag is None else tag
    except (OSError, ValueError):
        return None


def tag_in_limits(limits: bytes) -> int | None:
    """The tag in the text of /proc/<pid>/limits; None if the soft limit is not a tag."""
    soft, _ = _locks(limits)
    return soft if _LOWEST_NONCE <= server_of(soft) <= _HIGHEST_NONCE else None


def _locks(limits: bytes) -> tuple[int, int]:
    """The soft and the hard RLIMIT_LOCKS in the text of /proc/<pid>/limits."""
    soft, hard = limits.partition(b"Max file locks")[2].split(None, 2)[:2]
    return (
        int(soft) if soft.isdigit() else _UNLIMITED,
        int(hard) if hard.isdigit() else _UNLIMITED,
    )


def is_below_a_tag(pid: int) -> bool:
    """Whether the hard limit of a process is lower than that of this process.

    A hard limit can be lowered by everyone: a descendant of a tagged process can hide its tag, but without
    CAP_SYS_RESOURCE it cannot get back the limit of a process that never had one.
    """
    try:
        with open(f"/proc/{pid}/limits", "rb") as limits, open("/proc/self/limits", "rb") as own:
            return _locks(limits.read())[1] < _locks(own.read())[1]
    except (OSError, ValueError):
        return False


def _tag_in_environment(pid: int) -> int | None:
    wanted = ENV_TAG.encode() + b"="
    with open(f"/proc/{pid}/environ", "rb") as environ:
        for entry in environ.read().split(b"\0"):
            if entry.startswith(wanted):
                return int(entry[len(wanted) :])
    return None
