"""The options `--model-base-url` and `--model-key-env` of `run` and `rollouts`."""

from __future__ import annotations

import os

import click

from sandbox_agent.sdk.model_address import COVERED, model_environment

model_base_url_option = click.option(
    "--model-base-url",
    metavar="URL",
    help="Address of the model for any agent, without /v1; for proxies that count or record model calls.",
)
model_key_env_option = click.option(
    "--model-key-env", metavar="NAME", help="Variable with the key for that address."
)


def model_variables(
    base_url: str | None, key_variable: str | None, model: str | None, agent: str
) -> dict[str, str]:
    """The variables for the agent. Raises click.UsageError for half an address."""
    if base_url is None:
        if key_variable is not None:
            raise click.UsageError("--model-key-env needs --model-base-url")
        return {}
    if not base_url.startswith(("http://", "https://")):
        raise click.UsageError(f"--model-base-url begins with http:// or https://, not {base_url!r}")
    key = os.environ.get(key_variable or "", "")
    if not key:
        raise click.UsageError(
            "--model-base-url needs --model-key-env with the name of a variable that is set"
        )
    if agent not in COVERED:
        known = ", ".join(COVERED)
        click.echo(f"warning: {agent} is not known to use --model-base-url; these are: {known}", err=True)
    return model_environment(base_url, key, model)
