"""What the runs of a campaign differ in, and the place of a run in it."""

from enum import StrEnum

from pydantic import Field

from kb.types.base import Frozen


class Skills(StrEnum):
    """Which skills a run gets, and so of which tasks its rules may come. Only a run with `all` publishes wins."""

    ALL = "all"
    OTHERS = "others"
    """Those without evidence on the run's own task."""
    NONE = "none"


class Part(Frozen):
    """The place of a run in a campaign."""

    campaign: str
    group: str
    """That of its task, such as a level of KernelBench."""
    arm: str


class Amounts(Frozen):
    """What a campaign or a run may take, or has taken; None sets no limit."""

    evaluations: int | None = Field(default=None, ge=0)
    """Verdicts."""
    tokens: int | None = Field(default=None, ge=0)
    dollars: float | None = Field(default=None, ge=0)
    minutes: float | None = Field(default=None, ge=0)
    """Of the judge: for verdicts and quick timings."""

    def __str__(self) -> str:
        limits = {name: getattr(self, name) for name in Amounts.model_fields}
        return ", ".join(f"{limit:,} {name}" for name, limit in limits.items() if limit is not None) or "no limit"
