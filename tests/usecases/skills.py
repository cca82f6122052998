"""Skills with evidence of today, for tests of a curator's work."""

from typing import Any

from kb.skillbook.library import utc_now
from kb.types.evidence import Evidence
from kb.types.kernels import Candidate
from kb.types.skill import Skill
from kb.usecases.knowledge_base import KnowledgeBase
from tests.skillbook.conftest import decided
from tests.skillbook.evidence import KERNEL, evidence, kernel, skill

OTHER = kernel("import triton\n\nBLOCK = 64  # tune: 64, 128\n\n\nclass ModelNew: ...")
"""A kernel with few words of `KERNEL`."""


def today(candidate: Candidate = KERNEL, **fields: Any) -> Evidence:
    """Evidence that is not out of date; a win unless the fields say otherwise."""
    return evidence(candidate, **{"speedup": 1.5, "created": utc_now(), "environment": {"machine": "A"}} | fields)


def proposed(kb: KnowledgeBase, name: str = "softmax", *, here: bool = False, **fields: Any) -> Skill:
    """A proposal with a win, which is claimed unless it was measured here."""
    candidate = fields.get("candidate", KERNEL)
    draft = skill(name, **{"license": "MIT", "evidence": (today(candidate),) if candidate else ()} | fields)
    if here:
        kb.skills.attest(*draft.evidence)
    return kb.skills.propose(draft, by="ann")


def accepted(kb: KnowledgeBase, name: str, **fields: Any) -> Skill:
    """A skill with a win of here, if it has a kernel."""
    proposed(kb, name, here=True, **fields)
    return decided(kb.skills, name, "accept")
