"""When a tree gets its control group: agents at their start, short commands not at all."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from sandbox_agent.bridge.agent_starter import AgentStarter
from sandbox_agent.bridge.launch_spec import LaunchSpec
from sandbox_agent.bridge.process.limits import ProcessLimits
from sandbox_agent.bridge.process.tree.control_group import ServerGroups, TreeGroup
from sandbox_agent.bridge.process.tree.running_trees import RunningTrees
from sandbox_agent.bridge.process.tree.tree_sweeper import TreeSweeper
from sandbox_agent.runtime import running_loop
from sandbox_agent.runtime.loop import Loop


class NoLauncher:
    """Nothing is looked up: the tests start trees themselves."""

    def prepare_now(self, *_: object, **__: object) -> LaunchSpec | None:
        return None

    launch_if_installed = prepare_now

    async def prepare(self, *_: object, **__: object) -> LaunchSpec:
        raise NotImplementedError


class Tree:
    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.on_reaped: Callable[[int], None] = lambda _: None
        self.group: TreeGroup | None = None


class UnusedGroups(ServerGroups):
    """Counts the attempts to make the directory and makes none."""

    def __init__(self) -> None:
        super().__init__(1)
        self.made = 0

    def make(self) -> str | None:
        self.made += 1
        return None


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> Loop:
    loop = Loop()
    monkeypatch.setattr(running_loop, "_server_loop", loop)
    monkeypatch.setattr(loop, "in_thread", lambda job, done: done(job(), None))
    return loop


@pytest.mark.clause("security-cgroup")
@pytest.mark.usefixtures("loop")
def test_the_group_of_an_agent_is_made_with_its_start() -> None:
    starter = AgentStarter(NoLauncher(), TreeSweeper(RunningTrees()), ProcessLimits(), 1000, lambda *_: None)
    starter.groups = groups = UnusedGroups()
    tree = starter.start_tree(lambda tag, sweeper: Tree(os.getpid()))
    assert tree.group is not None
    assert groups.made == 1


def test_a_short_command_ends_before_its_group_is_made(loop: Loop) -> None:
    starter = AgentStarter(NoLauncher(), TreeSweeper(RunningTrees()), ProcessLimits(), 1000, lambda *_: None)
    starter.groups = groups = UnusedGroups()
    short = starter.start_tree(lambda tag, sweeper: Tree(1), group_after_s=0.001)
    starter.trees.reaped(short.pid)
    long = starter.start_tree(lambda tag, sweeper: Tree(os.getpid()), group_after_s=0.002)
    while long.group is None:
        loop.turn(1)
    assert short.group is None
    assert groups.made == 1
