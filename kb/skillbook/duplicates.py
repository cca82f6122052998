"""Recognises skills that say the same, whatever their words."""

import ast
import re
from collections.abc import Iterable

from kb.model.skill import Skill, SkillKind

_COMMENTS = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)


def twin_of(skill: Skill, known: Iterable[Skill]) -> Skill | None:
    """The skill in `known` with the same content, else one with the same key; None if there is none."""
    alike = [other for other in known if key_of(other) == key_of(skill)]
    own = skill.content_digest
    return min(alike, key=lambda s: (s.content_digest != own, s.candidate != skill.candidate, s.name), default=None)


def key_of(skill: Skill) -> tuple[str | None, ...]:
    """What makes two skills the same: where they hold, and the kernel's code or the title of the text.

    A technique is its title and its code, since parameters of one name mean other things in other kernels.
    """
    title = "" if skill.kind is SkillKind.KERNEL else skill.body.strip().partition("\n")[0]
    return skill.kind, skill.target, skill.language, title, normalised_code(skill)


def normalised_code(skill: Skill) -> str:
    """The kernel's code without comments and layout; empty if there is no kernel."""
    if skill.candidate is None:
        return ""
    source = skill.candidate.source
    if skill.suffix == ".py":
        try:
            return ast.unparse(ast.parse(source))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return source
    return " ".join(_COMMENTS.sub(" ", source).split())
