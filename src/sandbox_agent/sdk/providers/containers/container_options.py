"""What a container is made of, and the body of the Engine's create request."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sandbox_agent.sdk.providers.lease_keeper import DEFAULT_LEASE_S

BUNDLE_PATH = "/opt/sandbox-agent"
LABEL = "dev.sandboxagent.sandbox"
"""Every container of these providers has it."""
LEASE_VARIABLE = "SANDBOX_AGENT_LEASE_S"
TOKEN_VARIABLE = "SANDBOX_AGENT_TOKEN"  # noqa: S105 - the name of a variable


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerOptions:
    """The options of `docker()` and `podman()`."""

    image: str
    bundle: str | None = None
    """A self-contained `sandbox-agent` of `scripts/build` for images without one: a directory is mounted
    read-only, a `.tar.gz` is copied into the container. Default: the variable SANDBOX_AGENT_BUNDLE."""
    env: Mapping[str, str] = field(default_factory=dict)
    args: Sequence[str] = ()
    """Further arguments of the `server` command."""
    memory_mb: int | None = None
    cpus: float | None = None
    pids: int | None = None
    network: str | None = None
    """A network of the engine, or `host`; None for its default. The server needs one to be reached."""
    by_address: bool = False
    """Connect to the container's own address instead of a published port; for internal networks."""
    mounts: Mapping[str, str] = field(default_factory=dict)
    """Directories of the engine's machine by their path in the container; `:ro` may follow either."""
    user: str | None = None
    workdir: str | None = None
    """The directory of sessions that name none."""
    runtime: str | None = None
    """The OCI runtime, such as `runsc`."""
    labels: Mapping[str, str] = field(default_factory=dict)
    pull: bool = False
    """Pull an image that the engine does not have."""
    detached: bool = False
    """Leave the sandbox running when the client closes, without a lease."""
    lease_s: int = DEFAULT_LEASE_S
    """Seconds after which a sandbox whose client was killed ends itself; 0: never."""
    start_timeout_s: float = 60.0
    publish_address: str = "127.0.0.1"
    """The address of the engine's machine on which the port is published."""
    host_config: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the Engine's HostConfig; they replace those made here."""

    def __post_init__(self) -> None:
        if self.network == "none":
            raise ValueError("a server without a network cannot be reached; use an internal network")

    @property
    def bundle_path(self) -> str | None:
        return self.bundle or os.environ.get("SANDBOX_AGENT_BUNDLE") or None

    @property
    def lease(self) -> int:
        return 0 if self.detached else self.lease_s

    def body(self, token: str, port: int) -> dict[str, Any]:
        """The body of POST /containers/create for a server that listens on `port`."""
        bundle = self.bundle_path
        command = "sandbox-agent" if bundle is None else f"{BUNDLE_PATH}/bin/sandbox-agent"
        host = "127.0.0.1" if self.network == "host" else "0.0.0.0"  # noqa: S104 - inside the container
        own = {TOKEN_VARIABLE: token, LEASE_VARIABLE: str(self.lease)}
        body: dict[str, Any] = {
            "Image": self.image,
            "Entrypoint": [command],
            "Cmd": ["server", "--host", host, "--port", str(port), *self.args],
            "Env": [f"{name}={value}" for name, value in {**self.env, **own}.items()],
            "Labels": {**self.labels, LABEL: "1"},
            "HostConfig": self._host_config(bundle, port),
        }
        if self.user is not None:
            body["User"] = self.user
        if self.workdir is not None:
            body["WorkingDir"] = self.workdir
        if self._publishes:
            body["ExposedPorts"] = {f"{port}/tcp": {}}
        return body

    @property
    def _publishes(self) -> bool:
        return self.network != "host" and not self.by_address

    def _host_config(self, bundle: str | None, port: int) -> dict[str, Any]:
        binds = [f"{source}:{target}" for target, source in self._binds()]
        if bundle is not None and os.path.isdir(bundle):
            binds.append(f"{os.path.abspath(bundle)}:{BUNDLE_PATH}:ro")
        limits = {
            "Memory": None if self.memory_mb is None else self.memory_mb * 1024 * 1024,
            "NanoCpus": None if self.cpus is None else int(self.cpus * 1_000_000_000),
            "PidsLimit": self.pids,
            "NetworkMode": self.network,
            "Runtime": self.runtime,
        }
        config: dict[str, Any] = {name: value for name, value in limits.items() if value is not None}
        config |= {"AutoRemove": not self.detached, "Binds": binds}
        if self._publishes:
            config["PortBindings"] = {
                f"{port}/tcp": [{"HostIp": self.publish_address, "HostPort": ""}],
            }
        return config | dict(self.host_config)

    def _binds(self) -> list[tuple[str, str]]:
        """Target and source of each mount; `:ro` of the source goes to the end."""
        pairs = []
        for target, source in self.mounts.items():
            mode = ":ro" if source.endswith(":ro") or target.endswith(":ro") else ""
            pairs.append((target.removesuffix(":ro") + mode, os.path.abspath(source.removesuffix(":ro"))))
        return pairs
