"""The value of a skill: the mean outcome of the runs that took it up."""

from kb.types.skill import Skill
from kb.types.skill_record import UseOutcome

WORTH = {UseOutcome.REPRODUCED: 1.0, UseOutcome.NO_WIN: 0.0, UseOutcome.FAILED: -1.0, UseOutcome.INAPPLICABLE: -1.0}
PRIOR_WEIGHT = 4
"""So many uses of worth 0 are added, so that a few uses say little (the shrunken mean of empirical Bayes)."""


def value_of(skill: Skill) -> float:
    """Between -1, harmful, and 1, a win in every run; 0 if no run took it up. The last use of each run counts."""
    content = skill.content_digest
    last = {r.by: WORTH[r.outcome] for r in skill.records if r.outcome and r.content_digest == content}
    return sum(last.values()) / (len(last) + PRIOR_WEIGHT)
