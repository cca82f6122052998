"""What is seen once in sixty looks is rare; more often, or more than three times in two hundred, it is not."""

import pytest

from eval.supervisor.rate_limit import WINDOW, RateLimit


@pytest.mark.parametrize(
    ("seen", "more"),
    [
        ({0}, False),
        ({0, 1}, True),
        ({0, 70, 130}, False),
        ({10, 70, 130, 199}, True),
        ({10, 70, 130, 10 + WINDOW}, False),
        (set(range(0, 1000, 66)), True),
        (set(range(0, 1000, 67)), False),
    ],
)
def test_looks_are_counted_over_the_last_ones(seen: set[int], more: bool) -> None:
    limit = RateLimit()

    assert any(limit.exceeded(seen=look in seen) for look in range(1000)) == more
