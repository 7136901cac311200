"""The options `--model-base-url` and `--model-key-env` of `run` and `rollouts`."""

from __future__ import annotations

import os

import click

from sandbox_agent.sdk.model_address import COVERED, NEED_MODEL, model_environment

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
    """The variables for the agent. Raises click.UsageError for half an address or a missing model."""
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
    if agent in NEED_MODEL and model is None:
        raise click.UsageError(f"--model-base-url needs --model with {agent}")
    return model_environment(base_url, key, model)


def session_model(base_url: str | None, model: str | None, agent: str) -> str | None:
    """The model to set in the session: none behind an address, where the variables name it.

    Agents offer such a model under another name: `proxy/NAME`, `$runtime|openai|NAME(openai)`.
    """
    return None if base_url is not None and agent in COVERED else model
