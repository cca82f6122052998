"""A record about a skill: what a curator decided, or what came of using it. Records are added and never change."""

from enum import StrEnum
from typing import Literal

from kb.types.base import Frozen
from kb.types.kernels import digest_of


class UseOutcome(StrEnum):
    """What came of a skill that a run took up."""

    REPRODUCED = "reproduced"
    """A candidate made from it won."""
    NO_WIN = "no_win"
    FAILED = "failed"
    """Every candidate made from it was refused."""
    INAPPLICABLE = "inapplicable"
    """No candidate could be made from it."""


class SkillRecord(Frozen):
    """One decision or use."""

    verb: Literal["accept", "reject", "retire", "restore", "use"]
    skill: str
    content_digest: str
    """Of the skill as it was then; a record about other content does not count."""
    created: str
    """Time in ISO 8601, UTC."""
    by: str
    """Who decided, or the id of the run that used it."""
    reason: str = ""
    successor: str = ""
    """Name of the skill that takes the place of a retired one."""
    task: str = ""
    """Digest of the task it was used on."""
    outcome: UseOutcome | None = None
    """What came of a use; None for decisions."""

    @property
    def id(self) -> str:
        """Digest of the record."""
        return digest_of(self.model_dump_json())
