"""One HTTP API for every coding agent.

Importing this package loads nothing else. The SDK (`SandboxAgent`, `AsyncSandboxAgent` and the other names
of `sandbox_agent.sdk.api`) is loaded when one of its names is used.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sandbox_agent.sdk.api import *  # noqa: F403 - the public names as a whole

    __version__: str

# The public functions: a lower-case name that is not among them is a submodule and must not load the SDK.
_FUNCTIONS = frozenset(
    (
        "allow_kinds",
        "asgi",
        "ask_terminal",
        "ask_terminal_question",
        "auto_approve",
        "auto_reject",
        "build_inspector_url",
        "docker",
        "event_from_json",
        "event_to_dict",
        "event_to_json",
        "export_session",
        "image",
        "podman",
        "resource",
        "resource_link",
        "spawn_server",
        "text",
        "tool",
    )
)


def __getattr__(name: str) -> object:
    if name == "__version__":
        from sandbox_agent.version import version

        return version()
    if name == "__all__":
        return _public_names()
    if name[:1].isupper() or name in _FUNCTIONS:
        import importlib

        api = importlib.import_module("sandbox_agent.sdk.api")
        if name in api.__all__:
            return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    dunders = (name for name in globals() if name.startswith("__"))
    return sorted({*dunders, *_public_names(), "__version__"})


def _public_names() -> list[str]:
    import importlib

    names: list[str] = importlib.import_module("sandbox_agent.sdk.api").__all__
    return names
