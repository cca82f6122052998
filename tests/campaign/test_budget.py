"""A budget says in words what it allows."""

import pytest

from kb.campaign.file import Budget
from kb.types.campaign import Amounts


@pytest.mark.parametrize(
    ("budget", "words"),
    [
        (Budget(), "no limit; for each task no limit"),
        (Budget(evaluations=2, tokens=50_000), "2 evaluations, 50,000 tokens; for each task no limit"),
        (Budget(dollars=2.5, task=Amounts(minutes=3)), "2.5 dollars; for each task 3.0 minutes"),
    ],
)
def test_a_budget_in_words(budget: Budget, words: str) -> None:
    assert str(budget) == words
