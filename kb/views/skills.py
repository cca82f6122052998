"""Skills and proposals as plain data that fits into a number of tokens."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kb.errors import SkillError
from kb.storage import slug
from kb.types.base import Frozen, short
from kb.types.kernels import Candidate
from kb.types.skill import Preconditions, Skill, SkillKind, SkillStanding
from kb.views.response import LABEL_CHARACTERS, NAMES_SHOWN, Listing, LongText, Response, view_of

if TYPE_CHECKING:  # the caller has it open; loading it here would delay the start of the MCP server
    from kb.skillbook.select import Selection
    from kb.usecases.knowledge_base import KnowledgeBase


class SkillSummary(Frozen):
    name: str
    kind: str
    standing: str
    target: str
    language: str | None
    """None if it holds for every language."""
    speedup: float | None
    """Its best win that was measured here."""
    description: str
    digest: str | None
    """Of its kernel."""
    folder: str


class FoundSkill(Frozen):
    name: str
    standing: str
    applies: str
    """Kind, target and language."""
    description: str


class FoundSkills(Listing):
    of = "skills"
    named = "name"
    skills: tuple[FoundSkill, ...]


class SkillText(LongText):
    """What a skill says, then its kernel and the texts beside it."""

    name: str
    standing: str
    evidence: tuple[str, ...]
    """The latest first; `claimed` is what nobody measured here."""
    gains: tuple[str, ...]
    """Its time beside the best baseline's, and what runs reached with it and without skills."""


class DraftSkill(Frozen):
    """A skill as an agent states it."""

    name: str
    kind: SkillKind
    description: str
    """What it is and when to use it."""
    body: str
    """Markdown, 900 tokens: when, how, why, when not, what failed."""
    target: str = "any"
    language: str | None = None
    """Default: it holds for every language."""
    code: str = ""
    """The kernel; the kind `kernel` has one."""
    preconditions: Preconditions = Preconditions()
    citations: tuple[str, ...] = ()
    """Ids of the passages that it rests on."""


class ProposedSkill(Response):
    name: str
    doubts: tuple[str, ...]


def listed(kb: "KnowledgeBase", skills: Sequence[Skill]) -> list[SkillSummary]:
    """What each skill or proposal is."""
    standings = kb.skills.standings(skills)
    return [
        view_of(
            SkillSummary,
            skill,
            kind=skill.kind,
            standing=standings[skill.name],
            speedup=best.speedup if not skill.is_prose and (best := measured.best) else None,
            digest=skill.candidate.digest if skill.candidate else None,
            folder=str(skill.folder),
        )
        for skill, measured in zip(skills, kb.skills.measured(*skills), strict=True)
    ]


def selected(kb: "KnowledgeBase", query: str, target: str | None, language: str | None) -> "Selection":
    """The skills that fit a query, and why others do not. Errors as in `Targets.get`."""
    from kb.skillbook.select import Need

    own, scope = (kb.targets.get(target).name, kb.targets.scope(target)) if target else ("", None)
    return kb.skills.select(Need(words=query, target=own, scope=scope, language=language))


def skills(kb: "KnowledgeBase", query: str, target: str | None, language: str | None) -> FoundSkills:
    """The skills that fit a query, best first, or all; never what is retired. Errors as in `Targets.get`."""
    used = tuple(
        FoundSkill(
            name=one.skill.name,
            standing=one.standing,
            applies=f"{one.skill.kind} for {one.skill.target} in {one.skill.language or 'any language'}",
            description=one.skill.description,
        )
        for one in selected(kb, query, target, language).offered
    )
    damaged = [folder.name for folder, _ in kb.skills.problems()]
    lost = (f"left out as damaged: {', '.join(damaged[:3])}; `kb skills list` tells the user why",) if damaged else ()
    return FoundSkills(skills=used, notes=lost)


def skill(kb: "KnowledgeBase", name: str, *, offset: int) -> SkillText:
    """A skill or a proposal, from character `offset` of its text on. Errors as in `Skillbook.find`."""
    from kb.skillbook.foreign import attached
    from kb.usecases.curating import measured
    from kb.usecases.skill_gains import gains_of

    held = kb.skills.find(name)
    source = held.candidate.source if held.candidate else ""
    text = f"{held.description}\n\n{held.body}" + (f"\n\n```{held.language}\n{source}```\n" if source else "")
    for path, content in attached(held.folder).items() if held.folder else ():
        text += f"\n\n## {path}\n\n{content.decode()}"
    evidence = tuple(
        f"{one.outcome} {one.task} on {one.target}, {m.trust}, {one.created[:10]}"
        + (f": {one.speedup:.2f}x ({m.interval})" if one.speedup else "")
        for m in measured(kb, held)
        for one in [m.evidence]
    )
    gains = tuple(map(str, gains_of(kb, held)))

    return SkillText(
        name=held.name,
        standing=kb.skills.standing(held),
        evidence=evidence[:NAMES_SHOWN],
        gains=gains[:NAMES_SHOWN],
        text=text[offset:],
        offset=offset,
    )


def propose(kb: "KnowledgeBase", draft: DraftSkill) -> ProposedSkill:
    """Keep an agent's skill for a curator, under a name that also depends on its content.

    Errors as in `Skillbook.propose` and `Targets.get`, and:

    Raises:
        CandidateError: its language is unknown.
        SkillError: it has code and no language, or a name without Latin letters and digits, or the user rejected what
            says the same.
    """
    from eval.languages.registry import described_language
    from kb.skillbook.select import ANY
    from kb.skillbook.win import named
    from kb.usecases.curating import review

    if not slug(draft.name):
        raise SkillError("a skill has a name in Latin letters or digits", hint="name what it is about: `unroll-rows`")
    if draft.code and not draft.language:
        raise SkillError("a kernel has a language", hint="name the `language` of the code")
    if draft.target != ANY:
        kb.targets.get(draft.target)
    language = described_language(draft.language) if draft.language else None
    candidate = Candidate(language=language.name, source=draft.code) if language and draft.code else None
    skill = Skill(
        **draft.model_dump(exclude={"code", "language"}),
        language=language and language.name,
        candidate=candidate,
        suffix=language.suffix if language and candidate else "",
        license=kb.skills.licence,
    )
    if (twin := kb.skills.twin(skill)) and kb.skills.standing(twin) is SkillStanding.RETIRED:
        raise SkillError(f"{twin.name}, which says the same, was rejected here", hint="ask the user to accept it")
    seen = review(kb, kb.skills.propose(named(skill), by="an agent"))
    note = f"it is kept and not used: the user decides with `kb skills show {seen.skill.name}`"
    return ProposedSkill(
        name=seen.skill.name,
        doubts=tuple(short(flag, LABEL_CHARACTERS) for flag in seen.doubts[:NAMES_SHOWN]),
        notes=(note,),
    )
