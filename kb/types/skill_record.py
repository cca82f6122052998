"""A record about a skill: who proposed it, what a curator decided. Records are added and never change."""

from typing import Literal

from kb.types.base import Recorded
from kb.types.kernels import digest_of

Verb = Literal["propose", "accept", "reject", "retire", "restore", "use"]


class SkillRecord(Recorded):
    """One proposal or decision."""

    verb: Verb
    """Earlier versions also wrote `restore`, which took back a rejection or a retirement, and `use`, after runs."""
    skill: str
    content_digest: str
    """Of the skill as it was then; a record about other content does not count."""
    created: str
    """Time in ISO 8601, UTC."""
    by: str
    """Who did it."""
    reason: str = ""

    @property
    def id(self) -> str:
        """Digest of the record."""
        return digest_of(self.model_dump_json())
