from __future__ import annotations

import os

from sandbox_agent.runtime import c_library


def test_a_function_is_called_with_whole_numbers_and_one_that_is_missing_is_none() -> None:
    assert c_library.call("getpid") == os.getpid()
    assert c_library.call("abs", -7) == 7
    assert c_library.call("no_such_function_anywhere", 1) is None
