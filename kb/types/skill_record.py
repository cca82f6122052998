"""A record about a skill: what a curator decided. Records are added and never change."""

from typing import Literal

from kb.types.base import Recorded
from kb.types.kernels import digest_of


class SkillRecord(Recorded):
    """One decision."""

    verb: Literal["accept", "reject", "retire", "restore", "use"]
    """Earlier versions also wrote `restore`, which took back a rejection or a retirement, and `use`, after runs."""
    skill: str
    content_digest: str
    """Of the skill as it was then; a record about other content does not count."""
    created: str
    """Time in ISO 8601, UTC."""
    by: str
    """Who decided."""
    reason: str = ""

    @property
    def id(self) -> str:
        """Digest of the record."""
        return digest_of(self.model_dump_json())
