"""Whether processes of agents can be tagged: the tag is set and read back once when the server starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent.bridge.process.tree import tags

if TYPE_CHECKING:
    from sandbox_agent.bridge.process.limits import ProcessLimits

_SHOW_LIMITS = ("/bin/sh", "-c", 'while read -r line; do echo "$line"; done </proc/self/limits')
_LIMIT_S = 10.0


def tags_can_be_set(limits: ProcessLimits, server_tag: int) -> bool:
    """Takes milliseconds if agents run as another user, because a process of that user is started."""
    tag = tags.instance_tag(server_tag, 0)
    try:
        seen = _limits_of_this_process(tag) if limits.user is None else _limits_of_other_user(limits, tag)
        return tags.tag_in_limits(seen) == tag
    except (OSError, ValueError, KeyError):
        return False


def _limits_of_this_process(tag: int) -> bytes:
    import resource

    before = resource.getrlimit(tags.RLIMIT_LOCKS)
    resource.setrlimit(tags.RLIMIT_LOCKS, (tag, before[1]))
    try:
        with open("/proc/self/limits", "rb") as limits:
            return limits.read()
    finally:
        resource.setrlimit(tags.RLIMIT_LOCKS, before)


def _limits_of_other_user(limits: ProcessLimits, tag: int) -> bytes:
    import subprocess

    try:
        done: subprocess.CompletedProcess[bytes] = subprocess.run(  # noqa: S603 - a fixed command
            limits.limited(_SHOW_LIMITS, tag),
            cwd="/",
            env={},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_LIMIT_S,
            check=False,
            **limits.popen_arguments(),
        )
    except subprocess.SubprocessError:
        return b""
    return done.stdout
