"""How much input is generated for a test: a number of examples, fewer in a small run, for SECONDS at most.

The time lets each test end by itself on a slow or busy machine.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import settings
from hypothesis.errors import HypothesisException

SECONDS = 240.0
_SHRINKING_S = 400.0
"""For what follows a failure: hypothesis makes the example smaller for five minutes at most."""
_PROFILE = settings.get_profile("fuzz")
IS_SMALL = _PROFILE.derandomize

Test = Callable[..., None]


class _TimeIsOver(BaseException):
    """Ends the generation; hypothesis takes a BaseException neither for a failure nor for a result."""


def fuzz(
    *, small: int = 500, full: int = 5000, seconds: float = SECONDS, **more: Any
) -> Callable[[Test], Test]:
    """Decorates a test with `given`, and sets its time-out."""
    effort = settings(_PROFILE, max_examples=small if IS_SMALL else full, **more)

    def decorate(test: Any) -> Test:
        try_one = test.hypothesis.inner_test
        end, has_failed = 0.0, False

        @functools.wraps(try_one)
        def in_time(*args: Any, **kwargs: Any) -> None:
            nonlocal has_failed
            if time.monotonic() > end and not has_failed:
                raise _TimeIsOver
            try:
                try_one(*args, **kwargs)
            except HypothesisException:
                raise
            except Exception:
                has_failed = True
                raise

        test.hypothesis.inner_test = in_time
        run_all = effort(test)

        @functools.wraps(run_all)
        def bounded(*args: Any, **kwargs: Any) -> None:
            nonlocal end, has_failed
            end, has_failed = time.monotonic() + seconds, False
            try:
                run_all(*args, **kwargs)
            except _TimeIsOver:
                pass

        return pytest.mark.timeout(seconds + _SHRINKING_S)(bounded)  # type: ignore[no-any-return]

    return decorate


FUZZ = fuzz()
SAMPLED = fuzz(small=200)
"""For examples that take long: fewer of them in a small run."""
