"""docs/sdk.md names what the SDK has."""

from __future__ import annotations

import pytest

from sandbox_agent.sdk import api
from tests.docs.markdown import ROOT


@pytest.mark.clause("docs-checked")
def test_every_error_of_the_sdk_is_in_the_overview() -> None:
    overview = (ROOT / "docs" / "sdk.md").read_text("utf-8")
    assert [name for name in api.__all__ if name.endswith("Error") and name not in overview] == []
