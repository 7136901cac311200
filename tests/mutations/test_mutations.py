"""The list of broken behaviours stays true: each edit fits the source, each named test exists.

`scripts/mutations` shows that the tests fail, which takes minutes. Here one mutation is tried in each run,
all of them with `--full`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.mutations.mutation import Mutation, all_mutations
from tests.mutations.runner import Outcome, outcome_of

DECISIONS = {3, 4, 5, 6, 7, 8, 9, 10, 13, 15, 16, 22, 23, 53}


def test_every_decision_that_must_be_broken_is_broken() -> None:
    assert {mutation.decision for mutation in all_mutations()} == DECISIONS


def test_every_edit_fits_the_source_in_exactly_one_place() -> None:
    misfits = [f"{m.symbol}: {m.breaks}: {m.occurrences()}" for m in all_mutations() if m.occurrences() != 1]
    assert not misfits


def test_every_named_test_exists() -> None:
    for mutation in all_mutations():
        file, _, name = mutation.test_id.partition("::")
        assert Path(file).name.startswith("test_")
        assert name.startswith("test_")


def _cases() -> Iterator[Any]:
    for number, mutation in enumerate(all_mutations()):
        marks = [pytest.mark.full] if number else []
        yield pytest.param(mutation, marks=marks, id=mutation.breaks.replace(" ", "_"))


@pytest.mark.process
@pytest.mark.timeout(150)
@pytest.mark.parametrize("mutation", list(_cases()))
def test_the_named_test_notices(mutation: Mutation, tmp_path: Path) -> None:
    assert outcome_of(mutation, tmp_path) is Outcome.NOTICED
