"""One HTTP API for every coding agent.

Importing this package costs next to nothing; the SDK (`SandboxAgent`, `AsyncSandboxAgent` and all the
rest of `sandbox_agent.sdk.api`) is loaded when one of its names is used.
"""

TYPE_CHECKING = False  # as in typing, which costs start-up time
if TYPE_CHECKING:
    from sandbox_agent.sdk.api import *  # noqa: F403 - the public names as a whole

# The public names that are no classes or constants; asking for a submodule must not load the SDK.
_FUNCTIONS = frozenset(
    "allow_kinds asgi ask_terminal ask_terminal_question auto_approve auto_reject build_inspector_url "
    "image resource resource_link text".split()
)


def __getattr__(name: str) -> object:
    if name[:1].isupper() or name in _FUNCTIONS:
        import importlib

        api = importlib.import_module("sandbox_agent.sdk.api")
        if name in api.__all__:
            return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
