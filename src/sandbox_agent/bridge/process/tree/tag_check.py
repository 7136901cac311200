"""Whether processes of agents can be tagged: the tag is set and read back once when the server starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent.bridge.process.tree import tags
from sandbox_agent.bridge.process.tree.inherited_tag import inherited_tag

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
    with inherited_tag(tag, waits=True), open("/proc/self/limits", "rb") as limits:
        return limits.read()


def _limits_of_other_user(limits: ProcessLimits, tag: int) -> bytes:
    import subprocess

    argv, env = limits.limited(_SHOW_LIMITS, {}, tag)
    with inherited_tag(tag, waits=True):
        process = subprocess.Popen(  # noqa: S603 - a fixed command
            argv,
            cwd="/",
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            **limits.popen_arguments(),
        )
    with process:
        try:
            output, _ = process.communicate(timeout=_LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            return b""
    return bytes(output)
