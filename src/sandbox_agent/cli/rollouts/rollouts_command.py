"""`sandbox-agent rollouts TASKS`, `rollouts show OUTPUT` and `rollouts serve OUTPUT`."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from sandbox_agent.cli.lazy_group import LazyGroup
from sandbox_agent.cli.options.agent_completion import complete_agent
from sandbox_agent.cli.options.model_options import (
    model_base_url_option,
    model_key_env_option,
    model_variables,
    session_model,
)
from sandbox_agent.cli.options.new_file import NEW_FILE
from sandbox_agent.cli.rollouts.show_command import print_summary
from sandbox_agent.cli.rollouts.time_histogram import svg_histogram
from sandbox_agent.cli.run.interrupts import interrupt_on_sigterm
from sandbox_agent.rollouts import Rollout
from sandbox_agent.rollouts import rollouts as run_rollouts
from sandbox_agent.rollouts.engines.shared_server import START_S
from sandbox_agent.rollouts.output.output_directory import OutputInUseError, is_output
from sandbox_agent.rollouts.rollout import KEPT_BY_DEFAULT
from sandbox_agent.sdk.providers.containers.container_provider import docker, podman
from sandbox_agent.sdk.providers.local_provider import LocalProvider
from sandbox_agent.sdk.providers.sandbox_provider import SandboxProvider
from sandbox_agent.sdk.providers.spawn_options import SpawnOptions

SOME_FAILED = 1
_EXTRAS = {"pyarrow": "rollouts", "ray": "ray"}


class CannotRunError(click.ClickException):
    exit_code = 2


class TasksOrCommand(LazyGroup):
    """A first argument that is no command is the file with the tasks."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.list_commands(ctx):
            args = ["run", *args]
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except ModuleNotFoundError as error:
            extra = _EXTRAS.get(error.name or "")
            if extra is None:
                raise
            text = f"this needs the package {error.name}: pip install 'sandbox-agent[{extra}]'"
            raise CannotRunError(text) from error


_LAZY = {
    "serve": ("sandbox_agent.cli.rollouts.serve_command:serve", "Show an output directory in the browser.")
}


@click.group(cls=TasksOrCommand, lazy=_LAZY)
def rollouts() -> None:
    """Run many tasks: `rollouts TASKS.jsonl --agent AGENT -o OUT`; then `rollouts show` or `serve OUT`."""


@rollouts.command("run")
@click.argument("tasks")
@click.option("--agent", required=True, shell_complete=complete_agent, help="Agent that does the tasks.")
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), help="Directory for the rows."
)
@click.option(
    "--sandbox",
    type=click.Choice(["shared", "local", "docker", "podman"]),
    default="shared",
    help="Where each task runs: a directory of one local server, a server of its own, or a container.",
)
@click.option("--image", help="Image of the containers.")
@click.option("--bundle", help="Self-contained sandbox-agent for images without one.")
@click.option("--memory-mb", type=int, help="Memory of each container.")
@click.option("--cpus", type=float, help="Processors of each container.")
@click.option("--env", multiple=True, metavar="NAME[=VALUE]", help="Variable for the agents.")
@click.option("--engine", type=click.Choice(["local", "ray"]), default="local", help="Where rollouts run.")
@click.option("--at-once", type=click.IntRange(min=1), default=8, help="Most rollouts at a time.")
@click.option(
    "--retries", type=click.IntRange(min=0), default=0, help="Repetitions after a lost sandbox or agent."
)
@click.option("--retry-failed", is_flag=True, help="Run tasks again whose row has an error.")
@click.option("--id", "id_field", help="Field with the id of a task; by default id, else its position.")
@click.option("--prompt", multiple=True, help="Prompt with {field} of the task; several for several turns.")
@click.option("--before", multiple=True, help="Shell command before the first prompt.")
@click.option("--after", multiple=True, help="Shell command for grading: the score is 1 if all exit with 0.")
@click.option("--timeout-s", type=float, default=1800.0, help="Limit for each rollout.")
@click.option("--max-cost-usd", type=float, help="Limit of the cost of each rollout.")
@click.option("-m", "--model", help="Model to use.")
@click.option("--permissions", type=click.Choice(["approve", "reject", "reads"]), default="approve")
@click.option(
    "--keep",
    multiple=True,
    type=click.Choice(["transcript", "events", "patch"]),
    default=KEPT_BY_DEFAULT,
    show_default=True,
    help="What to keep of each rollout; the page replays events.",
)
@model_base_url_option
@model_key_env_option
@click.option("-q", "--quiet", is_flag=True, help="No progress bar.")
def run(tasks: str, output: Path, agent: str, **options: Any) -> int:
    """Run the TASKS of a .jsonl or .parquet file that have no row in the output yet.

    The same command again continues after Ctrl-C or a crash. Exit codes: 0 all passed, 1 some did not,
    2 wrong usage, or tasks, output or cluster that cannot be used, 130 interrupted.
    """
    environment = _environment(options["env"]) | model_variables(
        options["model_base_url"], options["model_key_env"], options["model"], agent
    )
    rollout = Rollout(
        agent=agent,
        sandbox=_sandbox(options, environment),
        prompt=list(options["prompt"]) or None,
        before=list(options["before"]),
        after=list(options["after"]),
        timeout_s=options["timeout_s"],
        max_cost_usd=options["max_cost_usd"],
        model=session_model(options["model_base_url"], options["model"], agent),
        permissions=options["permissions"],
        keep=list(options["keep"]),
    )
    interrupt_on_sigterm()
    try:
        batch = run_rollouts(
            tasks,
            rollout,
            output=output,
            engine=options["engine"],
            at_once=options["at_once"],
            retries=options["retries"],
            id=options["id_field"],
            retry_failed=options["retry_failed"],
            progress=not options["quiet"],
        )
    except (OutputInUseError, ValueError, OSError) as error:
        raise CannotRunError(str(error)) from error
    except KeyboardInterrupt:
        click.echo(f"interrupted; the same command continues. Rows so far are in {output}", err=True)
        raise
    rows = list(batch.rows())
    print_summary(rows, title=str(output))
    if batch.skipped:
        click.echo(f"{batch.skipped} tasks had a row already and were not run", err=True)
    if any(result.failed for result in rows):
        click.echo("--retry-failed runs the tasks again whose row has an error", err=True)
    return 0 if all(result.passed for result in rows) else SOME_FAILED


@rollouts.command()
@click.argument("output", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
@click.option("--picture", type=NEW_FILE, help="Histogram of the times, SVG.")
def show(output: Path, as_json: bool, picture: Path | None) -> None:
    """Show pass rate, cost, time and failures of an output directory."""
    from sandbox_agent.rollouts.batch import Batch

    if not is_output(output):
        raise CannotRunError(f"{output} has no rollouts")
    rows = list(Batch(output).rows())
    print_summary(rows, title=str(output), as_json=as_json)
    if picture is not None:
        picture.write_text(svg_histogram(rows, str(output)), encoding="utf-8")


def _environment(given: tuple[str, ...]) -> dict[str, str]:
    """NAME=VALUE, or NAME for the value that it has here."""
    found = {}
    for name, equals, value in (entry.partition("=") for entry in given):
        if not equals and name not in os.environ:
            raise click.UsageError(f"--env {name}: the variable is not set here")
        found[name] = value if equals else os.environ[name]
    return found


def _sandbox(
    options: dict[str, Any], environment: dict[str, str]
) -> SandboxProvider | Callable[[], SandboxProvider] | None:
    kind = options["sandbox"]
    if kind in ("docker", "podman"):
        if not options["image"]:
            raise click.UsageError(f"--sandbox {kind} needs --image")
        make = docker if kind == "docker" else podman
        return make(
            options["image"],
            bundle=options["bundle"],
            memory_mb=options["memory_mb"],
            cpus=options["cpus"],
            env=environment,
        )
    if kind == "local" or environment:
        return LocalProvider(SpawnOptions(env=environment, timeout=START_S))
    return None
