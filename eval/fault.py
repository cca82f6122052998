"""How worker and judge refuse a candidate. Standard library only: the worker uses it too."""


class Fault(Exception):  # noqa: N818 - a verdict, not a failure of the judge
    """A candidate is refused.

    Args:
        outcome: One of kb.model.evidence.Outcome, by value.
        detail: Why, in a line or a few.
    """

    def __init__(self, outcome: str, detail: str) -> None:
        self.detail = detail.encode(errors="replace").decode()  # what candidates say need not be text
        super().__init__(self.detail)
        self.outcome = outcome
