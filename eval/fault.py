"""The exception with which worker and judge refuse a candidate. Standard library only, because the worker uses it."""


class Fault(Exception):  # noqa: N818 - a verdict, not a failure of the judge
    """A candidate is refused.

    Args:
        outcome: The value of a kb.model.evidence.Outcome.
        detail: The reason, in a few lines.
    """

    def __init__(self, outcome: str, detail: str) -> None:
        self.detail = detail.encode(errors="replace").decode()  # a candidate's text may be malformed
        super().__init__(self.detail)
        self.outcome = outcome
