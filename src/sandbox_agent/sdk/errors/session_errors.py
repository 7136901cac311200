"""Errors of a session: its life, its turns, its requests to the user."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sandbox_agent.sdk.errors.base_error import SandboxAgentError, listed


class SessionNotFoundError(SandboxAgentError):
    """The store has no session with this id."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        super().__init__(f"session {session_id!r} not found")


class SessionAlreadyExistsError(SandboxAgentError):
    """A session with the wanted id is already in the store."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        super().__init__(f"session {session_id!r} already exists; continue it with sessions.resume()")


class SessionEndedError(SandboxAgentError):
    """The session was terminated; `sessions.resume()` starts it again."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        super().__init__(f"session {session_id!r} has ended; sessions.resume({session_id!r}) starts it again")


class SessionNotRestoredError(SandboxAgentError):
    """None of the allowed ways to restore the session worked."""

    def __init__(self, session_id: str, tried: Mapping[str, str]) -> None:
        self.session_id = session_id
        self.tried = dict(tried)
        ways = "; ".join(f"{way}: {why}" for way, why in tried.items()) or "no way was allowed"
        super().__init__(f"session {session_id!r} could not be restored ({ways})")


class PermissionNotFoundError(SandboxAgentError):
    """No pending permission request has this id: it never existed, or it was answered."""

    def __init__(self, permission_id: str) -> None:
        self.permission_id = permission_id
        super().__init__(f"no pending permission request {permission_id!r}")


class QuestionNotFoundError(SandboxAgentError):
    """No pending question has this id: it never existed, or it was answered."""

    def __init__(self, question_id: str) -> None:
        self.question_id = question_id
        super().__init__(f"no pending question {question_id!r}")


class ConcurrentPromptError(SandboxAgentError):
    """A turn is running and the prompt was sent with `queue=False`."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        super().__init__(f"session {session_id!r} is already working on a prompt")


class OutputError(SandboxAgentError):
    """The answer does not fit the type of `prompt(output=...)`, also after one repair; see `result`."""

    def __init__(self, type_name: str, problem: str) -> None:
        self.type_name = type_name
        self.problem = problem
        """What is wrong with the last answer."""
        super().__init__(f"the answer is not a valid {type_name}: {problem}")


class SteeringError(SandboxAgentError):
    """The agent did not take a message into its running turn."""

    def __init__(self, reason: str, message: str) -> None:
        self.reason = reason
        """`unsupported`, `no_turn` or `failed`."""
        super().__init__(message)


class LimitExceededError(SandboxAgentError):
    """`max_cost` or `max_turns` of a session was exceeded; a running turn was cancelled, see `result`."""

    def __init__(self, limit: str, allowed: float, reached: float) -> None:
        self.limit = limit
        self.allowed = allowed
        self.reached = reached
        super().__init__(f"{limit} is {allowed:g}, and {reached:g} is reached")


class CallbackError(SandboxAgentError):
    """An `on_permission` or `on_question` callback raised; the cause is attached."""


class UnsupportedPermissionReplyError(SandboxAgentError):
    """The agent offers no option for this reply, or takes no changed input; the request stays pending."""

    def __init__(
        self, permission_id: str, reply: str, available: Iterable[str], *, problem: str = ""
    ) -> None:
        self.permission_id = permission_id
        self.reply = reply
        self.available = list(available)
        self.problem = problem
        because = f": {problem}" if problem else ""
        offered = listed(self.available)
        super().__init__(
            f"permission {permission_id!r} cannot be answered with {reply!r}{because}; offered: {offered}"
        )


class InvalidAnswerError(SandboxAgentError):
    """The answer does not fit the question, which stays pending."""

    def __init__(self, question_id: str, message: str) -> None:
        self.question_id = question_id
        super().__init__(f"question {question_id!r}: {message}")
