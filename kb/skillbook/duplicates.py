"""Recognises skills that say the same, whatever their words."""

import ast
import re
from collections.abc import Iterable

from kb.types.skill import Preconditions, Skill, SkillKind

_COMMENTS = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)


def twin_of(skill: Skill, known: Iterable[Skill]) -> Skill | None:
    """The skill in `known` with the same content, else one with the same key that holds for the same; None if none."""
    own, key = skill.content_digest, key_of(skill)
    alike = [
        s
        for s in known
        if (s.kind, s.target, s.language) == key[:3]
        and key_of(s) == key
        and overlap(skill.preconditions, s.preconditions)
    ]
    return min(alike, key=lambda s: (s.content_digest != own, s.candidate != skill.candidate, s.name), default=None)


def overlap(one: Preconditions, other: Preconditions) -> bool:
    """Whether two skills may hold for the same task. Different conditions on sizes are taken to exclude each other."""
    for mine, theirs in ((one.ops, other.ops), (one.dtypes, other.dtypes)):
        if mine and theirs and not set(mine) & set(theirs):
            return False
    return one.shapes == other.shapes or not (one.shapes and other.shapes)


def key_of(skill: Skill) -> tuple[str | None, ...]:
    """What makes two skills the same: where they hold, and the code of a kernel.

    A technique is its title and its kernel with any values of the parameters: in another kernel they mean other things.
    A pitfall is its title and its operations, in whatever kernel it is met: many kernels are refused in the same words.
    What has no kernel is its whole text.
    """
    match skill.kind:
        case SkillKind.KERNEL:
            text = ""
        case SkillKind.PLAYBOOK:
            text = skill.body.strip()
        case _:
            text = skill.body.strip().partition("\n")[0] if skill.candidate else skill.body.strip()
    if skill.kind is SkillKind.PITFALL:
        return skill.kind, skill.target, skill.language, text, *sorted(skill.preconditions.ops)
    kernel = skill.candidate
    if kernel and skill.kind is SkillKind.TECHNIQUE:
        kernel = kernel.with_parameters(dict.fromkeys((p.name for p in kernel.parameters), 0))
    return skill.kind, skill.target, skill.language, text, normalised(kernel.source, skill.suffix) if kernel else ""


def normalised(source: str, suffix: str) -> str:
    """Code without comments and layout. C code in strings that looks like a comment is lost as well."""
    if suffix == ".py":
        try:
            return ast.unparse(ast.parse(source))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return source
    return " ".join(_COMMENTS.sub(" ", source).split())
