"""How a prompt shows a skill: its evidence, and its kernel if that fits the task, else its text in a few lines."""

import re

from kb.types.protocols import RecalledSkill
from kb.types.skill import SkillKind, SkillStanding
from synth.prompts.diagnosis import diagnose
from synth.prompts.render import one_line, render

STANDINGS = {
    SkillStanding.VERIFIED: "it won when it was measured here, or a person accepted its text",
    SkillStanding.STALE: "it won or was accepted long ago",
    SkillStanding.SCREENED: "it passed this task here and won nothing",
    SkillStanding.HYPOTHESIS: "nobody has measured it here",
}
LINES = 5
"""Most lines of a skill's text."""
CHANGED = 4
"""Most changed lines of a rule."""
_CHANGED = re.compile(r"^`{3,}diff\n(.*?)^`{3,}", re.DOTALL | re.MULTILINE)
_LEFT_OUT = re.compile(r"^(?:#|\||No evidence yet)|\[scripts/")
_LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")


def skill_text(recalled: RecalledSkill, tag: str, *, with_kernel: bool) -> str:
    skill = recalled.skill
    code = skill.candidate.source if with_kernel and skill.candidate else None
    own = [e for e in skill.own_evidence if e.passed]
    evidence = skill.best or (own[-1] if own else None)
    return render(
        "skill",
        skill=skill,
        standing=STANDINGS[recalled.standing],
        evidence=evidence,
        machine=(evidence.machine or "machine not recorded") if evidence else "",
        diagnosis=diagnose(evidence)[1:] if evidence else (),
        text="\n".join(_gist(skill.description, skill.body)),
        code=code,
        tag=tag,
    )


def rule_text(recalled: RecalledSkill) -> str:
    """A rule in a few lines: what was refused and what mended it, how often that helped, and the changed lines."""
    rule, changed = recalled.skill, _CHANGED.search(recalled.skill.body)
    proof = f"helped in {rule.helped} of {len(rule.trials)} other tasks" if rule.trials else "not tried yet"
    lines = changed[1].splitlines()[:CHANGED] if changed else []
    return "\n".join((f"- {one_line(rule.description)} ({proof})", *(f"  {line}" for line in lines)))


def has_kernel(recalled: RecalledSkill) -> bool:
    """Whether its kernel is shown: not that of a pitfall, whose text has the change that matters."""
    return recalled.whole and recalled.skill.kind is not SkillKind.PITFALL and recalled.skill.candidate is not None


def _gist(description: str, body: str) -> list[str]:
    """The description, the author's own words, and the first paragraphs and items of the text."""
    paragraphs = re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+[.)])\s)", body)
    said = [
        one_line(_LINK.sub(r"\1", text)) for text in paragraphs if text.strip() and not _LEFT_OUT.search(text.strip())
    ]
    return [one_line(description), *sorted(said, key=lambda text: not text.startswith(">"))][:LINES]
