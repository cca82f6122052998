"""Select the skills that apply to a kernel: hard filters first, then a ranking whose reasons can be read."""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum
from math import inf, log2

from kb.catalog.words import identifier_words, match_expression, query_words
from kb.skillbook.operations import Closeness, Operations, words_of
from kb.types.base import Frozen
from kb.types.kernels import Interface
from kb.types.protocols import Reason, RecalledSkill
from kb.types.skill import Skill, SkillStanding

ANY = "any"
"""Target of skills that are for every target."""
COLUMN_WEIGHTS = (4.0, 4.0, 1.0, 1.0, 1.0)
"""BM25 weights of name, description, body, code and identifiers: what a skill is for outweighs what it mentions."""
DIAGNOSIS = 0.5
"""What the best match with the diagnosis is worth; the best match with the words is worth 1."""
PROOF = {
    SkillStanding.VERIFIED: 0.9,
    SkillStanding.STALE: 0.5,
    SkillStanding.SCREENED: 0.4,
    SkillStanding.HYPOTHESIS: 0.0,
}
"""What a standing is worth. What won once comes before what never did."""


class Near(StrEnum):
    """What the target of a skill is to the wanted one."""

    SAME = "the target itself"
    RELATIVE = "a family of the target, or a member of it"
    ANY = "any target"
    SIBLING = "a sibling of the target"
    STRANGER = "another target"


CLOSENESS = {
    Closeness.NAMED: Reason(text="its operation is the one that is asked for", worth=2.0),
    Closeness.PART: Reason(text="its operation is a part of the task", worth=1.0),
    Closeness.UNSTATED: Reason(text="it is for any operation", worth=0.0),
    Closeness.NONE: Reason(text="it is for other operations", worth=0.0),
}
"""What its operations are worth: a skill that only mentions them cannot make up for it by its standing."""
NEARNESS = {Near.SAME: 0.4, Near.RELATIVE: 0.2, Near.ANY: 0.0, Near.SIBLING: -1.0}
"""What the target of a skill is worth."""
SIZES = 0.32
"""What it is worth that a skill won at the task's own sizes. Sizes decide which parameter values are the best."""
FAR = 16
"""A win at sizes so many doublings away is worth nothing more."""


@dataclass(frozen=True)
class Need:
    """What skills are wanted for. What is not given filters nothing."""

    words: str = ""
    """Search words."""
    operations: Operations | None = None
    """Those of the task; without them a skill must share a search word instead."""
    target: str = ""
    scope: frozenset[str] | None = None
    """The targets whose skills apply, beside those for `any`."""
    siblings: frozenset[str] = frozenset()
    """The targets whose skills are offered as hypotheses without their kernels."""
    task: str = ""
    """Digest of the task."""
    language: str | None = None
    interface: Interface | None = None
    diagnosis: Sequence[str] = ()
    """Phrasings for what the last candidate lacked."""


class Refusal(Frozen):
    """A skill that is not offered, and why."""

    name: str
    reason: str


class Selection(Frozen):
    """The skills for a need."""

    offered: tuple[RecalledSkill, ...]
    """Best first."""
    refused: tuple[Refusal, ...]


@dataclass(frozen=True)
class _Fit:
    """What a skill is to a need."""

    place: int
    skill: Skill
    standing: SkillStanding
    near: Near
    closeness: Closeness


def select(
    need: Need,
    skills: Sequence[Skill],
    *,
    standings: Mapping[str, SkillStanding],
    ships: Callable[[str], bool],
    name_of: Callable[[str], str] = lambda name: name,
) -> Selection:
    """The skills that apply and may be used, best first, and the others with the reason why not.

    A skill's score is the sum of its reasons' worths: its operations, its match with words and diagnosis, its standing,
    its target, and the sizes at which it won. Of equal scores the one that is fastest on the need's task comes first.

    Args:
        standings: By name.
        ships: Whether kb brings the skill of a name along. Others are used only once they are more than a hypothesis.
        name_of: Gives the present name of a target, which may have been renamed since a skill was written.
    """
    fits = list[_Fit]()
    for place, skill in enumerate(skills):
        near, standing = _near(name_of(skill.target), need), _standing(skill, standings[skill.name], need)
        fits.append(_Fit(place, skill, standing, near, _closeness(skill, standing, need)))
    refused = {fit.place: reason for fit in fits if (reason := _unusable(fit, ships) or _unfit(fit, need))}
    if need.operations:
        refused |= _outdone([fit for fit in fits if fit.place not in refused])
    fits = [fit for fit in fits if fit.place not in refused]
    words, diagnosis = _matches(fits, [need.words, " ".join(need.diagnosis)])
    if not need.operations and query_words(need.words):
        refused |= {fit.place: "it has none of the words" for fit in fits if fit.place not in words}
    offered = [
        _recalled(fit, need, _reasons(fit, need, words.get(fit.place, 0.0), diagnosis.get(fit.place, 0.0)))
        for fit in fits
        if fit.place not in refused
    ]
    return Selection(
        offered=tuple(sorted(offered, key=lambda one: (-round(one.score, 3), _time_us(one.skill, need)))),
        refused=tuple(Refusal(name=skills[place].name, reason=reason) for place, reason in sorted(refused.items())),
    )


def _time_us(skill: Skill, need: Need) -> float:
    """The shortest time that was measured of its kernel on the task; infinite if there is none."""
    return min((e.time_us for e in skill.own_evidence if e.task_digest == need.task), default=inf)


def _near(target: str, need: Need) -> Near:
    if target == ANY:
        return Near.ANY
    if target == need.target:
        return Near.SAME
    if need.scope is None or target in need.scope:
        return Near.RELATIVE
    return Near.SIBLING if target in need.siblings else Near.STRANGER


def _closeness(skill: Skill, standing: SkillStanding, need: Need) -> Closeness:
    """Closeness of the operations that a skill states; a kernel that states none is for those in its name."""
    wanted = need.operations or Operations(named=words_of(" ".join(query_words(need.words))), called=frozenset())
    ops = skill.preconditions.ops or (() if skill.is_prose else words_of(skill.name))
    return wanted.closeness(ops, proven=standing is not SkillStanding.HYPOTHESIS)


def _standing(skill: Skill, standing: SkillStanding, need: Need) -> SkillStanding:
    """The standing for a task: that a kernel passed another one and did not win says nothing."""
    passed = any(e.passed and e.task_digest == need.task for e in skill.own_evidence)
    return SkillStanding.HYPOTHESIS if standing is SkillStanding.SCREENED and not passed else standing


def _unusable(fit: _Fit, ships: Callable[[str], bool]) -> str:
    """Why a skill may not be used; empty if it may."""
    skill = fit.skill
    if fit.standing is SkillStanding.RETIRED:
        return "it is retired"
    if fit.standing is SkillStanding.HYPOTHESIS and not ships(skill.name):
        return "nobody accepted it" if skill.is_prose else "it has not won here, nor passed this task"
    return ""


def _unfit(fit: _Fit, need: Need) -> str:
    """Why a skill does not apply; empty if it does."""
    skill, dtypes = fit.skill, fit.skill.preconditions.dtypes
    if fit.near is Near.STRANGER:
        return f"it is for {skill.target}"
    if need.language and skill.language not in (None, need.language):
        return f"it is in {skill.language}"
    if need.operations and fit.closeness is Closeness.NONE:
        return f"it is for other operations: {', '.join(skill.preconditions.ops) or skill.name}"
    it = need.interface
    tensors = (*it.inputs, *it.state, *it.outputs) if it else ()
    if dtypes and (others := {tensor.dtype for tensor in tensors} - set(dtypes)):
        return f"it is for {' and '.join(dtypes)}; the task has {' and '.join(sorted(others))}"
    return ""


def _outdone(fits: Sequence[_Fit]) -> dict[int, str]:
    """The kernels for a part of the task, if there are kernels for the operation that it is named after."""
    kernels = [fit for fit in fits if not fit.skill.is_prose and fit.near is not Near.SIBLING]
    if not (whole := [fit.skill.name for fit in kernels if fit.closeness is Closeness.NAMED]):
        return {}
    why = f"it is for a part of the task, and {whole[0]} is for the whole"
    return {fit.place: why for fit in kernels if fit.closeness is not Closeness.NAMED}


def _reasons(fit: _Fit, need: Need, words: float, diagnosis: float) -> tuple[Reason, ...]:
    doublings = _doublings(fit.skill, need)
    reasons = (
        CLOSENESS[fit.closeness],
        Reason(text=f"{words:.0%} of the best match with the words", worth=words),
        Reason(text=f"{diagnosis:.0%} of the best match with the diagnosis", worth=DIAGNOSIS * diagnosis),
        Reason(text=f"it is {fit.standing}{' there' if fit.near is Near.SIBLING else ''}", worth=PROOF[fit.standing]),
        Reason(text=f"it is for {fit.near}", worth=NEARNESS[fit.near]),
        Reason(text=f"it won at sizes {doublings:.0f} doublings away", worth=SIZES * max(0.0, 1 - doublings / FAR)),
    )
    return tuple(reason for reason in reasons if reason.worth)


def _doublings(skill: Skill, need: Need) -> float:
    """How many doublings and halvings of rows and columns the nearest win is away; infinite if no win is known."""
    if need.interface is None:
        return inf
    wanted = need.interface.sizes
    return min((_apart(e.sizes, wanted) for e in skill.own_evidence if e.won and e.sizes), default=inf)


def _apart(sizes: Mapping[str, int], others: Mapping[str, int]) -> float:
    return sum(abs(log2(max(1, sizes.get(name, 1)) / max(1, others[name]))) for name in ("rows", "cols"))


def _recalled(fit: _Fit, need: Need, reasons: tuple[Reason, ...]) -> RecalledSkill:
    """A skill as it is offered; nothing that was measured on a sibling holds here, so its kernel is left out."""
    if fit.near is not Near.SIBLING:
        whole = fit.closeness is Closeness.NAMED
        return RecalledSkill(skill=fit.skill, standing=fit.standing, reasons=reasons, whole=whole)
    prose = fit.skill.model_copy(update={"candidate": None, "suffix": ""})
    return RecalledSkill(skill=prose, standing=SkillStanding.HYPOTHESIS, reasons=reasons)


def _matches(fits: Sequence[_Fit], queries: Sequence[str]) -> list[dict[int, float]]:
    """For each query the BM25 scores of the skills that match it, by their places, as shares of the best of them.

    A word counts the more, the fewer of these skills have it. BM25 as FTS5 computes it ignores a word that half of the
    texts have, and would see no difference between two skills: as many empty texts again prevent that.
    """
    with closing(sqlite3.connect(":memory:")) as db:
        columns = "name, description, body, code, identifiers"
        db.execute(f"CREATE VIRTUAL TABLE lexical USING fts5 ({columns}, tokenize = 'porter unicode61')")
        for skill in (fit.skill for fit in fits):
            texts = (skill.name, skill.description, skill.body, skill.candidate.source if skill.candidate else "")
            row = (*texts, identifier_words("\n".join(texts)))
            db.execute(f"INSERT INTO lexical ({columns}) VALUES (?, ?, ?, ?, ?)", row)
        db.executemany("INSERT INTO lexical (name) VALUES (?)", [("",)] * len(fits))
        score = f"-bm25(lexical, {', '.join(map(str, COLUMN_WEIGHTS))})"
        found = []
        for words in map(query_words, queries):
            match = (match_expression(words),)
            rows = db.execute(f"SELECT rowid, {score} FROM lexical WHERE lexical MATCH ?", match) if words else ()
            scores = {fits[number - 1].place: score for number, score in rows}
            best = max(scores.values(), default=0.0)
            found.append({place: score / best for place, score in scores.items()})
    return found
