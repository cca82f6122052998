"""The exception with which worker and judge refuse a candidate. Standard library only, because the worker uses it."""

import signal
from contextlib import suppress

MOST_CHARACTERS = 8000
"""A longer reason is cut."""


class Fault(Exception):  # noqa: N818 - a verdict, not a failure of the judge
    """A candidate is refused.

    Args:
        outcome: The value of a kb.types.evidence.Outcome.
        detail: The reason, in a few lines.
        case: The number of the case on which it failed, if it was one of several.
    """

    def __init__(self, outcome: str, detail: str, case: int | None = None) -> None:
        self.detail = detail[:MOST_CHARACTERS].encode(errors="replace").decode()  # a candidate's text may be malformed
        super().__init__(self.detail)
        self.outcome, self.case = outcome, case


def signal_name(number: int) -> str:
    """`SIGSEGV` for 11. Only some of the real-time signals have names."""
    with suppress(ValueError):
        return signal.Signals(number).name
    return f"signal {number}"
