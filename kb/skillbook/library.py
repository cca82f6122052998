"""The library of skills that ship with kb or belong to a home: reading, publication, proposals and search."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from datetime import UTC, date, datetime
from pathlib import Path

from kb.catalog import storage_errors
from kb.errors import SkillError, did_you_mean, nearest
from kb.skillbook.select import ANY, Need, Selection, select
from kb.skillbook.standing import StandingContext, standing_of
from kb.skillbook.store import SkillStore
from kb.storage import write_whole
from kb.types.evidence import Evidence
from kb.types.skill import Skill, SkillRecord, SkillStanding, Verb

SHIPPED = Path(__file__).parents[1] / "skills"
_ID = re.compile(r"\b[0-9a-f]{12}\b")
"""Ids of passages, rows and facts."""
JUDGED = "judged"
"""File of a home with the ids of the evidence that its own judge gave, one in a line. It is outside `skills/`, so that
no exchange of skills brings it."""


class Skillbook:
    """The shipped skills, which are never written, and a home's skills, which replace shipped ones of the same name.

    Args:
        name_of: Gives the present name of a target, which may have been renamed since a skill was written.
        versions: Gives the versions of the software here, as `StandingContext` has them.
        stands: Whether a cited passage is still in the documents.
        licence: Licence of the skills that are written here.
        hidden: Ids of passages and facts that must not be shown: skills and evidence that cite one are left out.
    """

    def __init__(
        self,
        home: Path,
        *,
        shipped: Path = SHIPPED,
        name_of: Callable[[str], str] = lambda name: name,
        versions: Callable[[], Mapping[str, str]] = dict,
        stands: Callable[[str], bool] = lambda citation: True,
        today: Callable[[], date] = lambda: datetime.now(UTC).date(),
        licence: str = "",
        hidden: Callable[[], Set[str]] = frozenset,
    ) -> None:
        self.home = home
        self._store = SkillStore(home, shipped)
        self.folder = self._store.folder
        self._name_of, self._versions, self._stands, self._today = name_of, versions, stands, today
        self.licence, self._hidden = licence, hidden

    def skills(self, *, scope: frozenset[str] | None = None, language: str | None = None) -> list[Skill]:
        """The well-formed skills that do not wait for a decision, sorted by name.

        With `scope` only those for a target in it or for `any`, with what was measured on targets in it.
        """
        return [
            self._within(scope, skill)
            for skill in self.known()
            if not skill.waits
            and (scope is None or self._name_of(skill.target) in scope | {ANY})
            and (language is None or skill.language in (None, language))
        ]

    def _within(self, scope: frozenset[str] | None, skill: Skill) -> Skill:
        """A skill without what was measured outside of a scope in which it may hold: there it proves nothing."""
        if scope is None or self._name_of(skill.target) not in scope | {ANY}:
            return skill
        kept = tuple(e for e in skill.evidence if self._name_of(e.target) in scope)
        return skill if kept == skill.evidence else skill.model_copy(update={"evidence": kept})

    def ships(self, name: str) -> bool:
        """Whether kb brings a skill of this name along, so that it is none that a run here has won."""
        return (self._store.shipped / name).is_dir()

    def problems(self) -> list[tuple[Path, SkillError]]:
        """The malformed directories of skills, and why they are."""
        return [(folder, error) for folder, error in self._read() if isinstance(error, SkillError)]

    def _read(self) -> Iterator[tuple[Path, Skill | SkillError]]:
        """All directories of skills, without what cites something hidden."""
        hidden = self._hidden()

        def cites_hidden(text: str) -> bool:
            return not hidden.isdisjoint(_ID.findall(text))

        for folder, skill in self._store.skills():
            if hidden and isinstance(skill, Skill):
                if cites_hidden(skill.model_dump_json(exclude={"evidence", "records", "folder"})):
                    continue
                shown = tuple(e for e in skill.evidence if not cites_hidden(e.model_dump_json()))
                skill = skill.model_copy(update={"evidence": shown})
            yield folder, skill

    def find(self, name: str) -> Skill:
        """The skill or the proposal called `name`, even if it was rejected.

        Raises:
            SkillError: it is malformed or does not exist; the hint then suggests similar names.
        """
        found = {folder.name: skill for folder, skill in self._read()}
        if isinstance(skill := found.get(name), Skill):
            return skill
        if skill:
            raise skill
        hint = f"{did_you_mean(nearest(name, list(found)))}`kb skills list` shows all skills"
        raise SkillError(f"unknown skill {name!r}", hint=hint)

    def proposals(self) -> list[Skill]:
        """The well-formed skills that wait for a decision, sorted by name."""
        return [skill for skill in self.known() if skill.waits]

    def known(self) -> list[Skill]:
        """All that is here: the skills and the proposals, also the retired and the rejected ones."""
        return [skill for _, skill in self._read() if isinstance(skill, Skill)]

    def twin(self, skill: Skill) -> Skill | None:
        """The skill or the proposal that says the same, if possible the one of its name; None if there is none."""
        alike = [one for one in self.known() if one.gist == skill.gist]
        return min(alike, key=lambda one: one.name != skill.name, default=None)

    def standing(self, skill: Skill) -> SkillStanding:
        """How far a skill or a proposal can be trusted here, as of now."""
        return self.standings([skill])[skill.name]

    def standings(self, skills: Iterable[Skill] | None = None) -> dict[str, SkillStanding]:
        """The standings of skills by name (default: of all)."""
        here, context = self.measured_here(), self._context()
        known = self.skills() if skills is None else skills
        return {skill.name: standing_of(_measured(skill, here), context) for skill in known}

    def measured(self, *skills: Skill) -> list[Skill]:
        """The skills without evidence that is only claimed."""
        here = self.measured_here()
        return [_measured(skill, here) for skill in skills]

    def measured_here(self) -> frozenset[str]:
        """Ids of the evidence that the judge of this home gave; all other is only claimed."""
        return frozenset(self._judged())

    def search(self, query: str, *, scope: frozenset[str] | None = None, language: str | None = None) -> list[Skill]:
        """The skills that pass the filters of `skills` and share a word with `query`, best first; see `select`."""
        found = self.select(Need(words=query, scope=scope, language=language))
        return [recalled.skill for recalled in found.offered]

    def select(self, need: Need, wanted: Callable[[Skill], bool] = lambda _: True) -> Selection:
        """As `select`, of the `wanted` skills, without evidence that is only claimed or holds for other targets."""
        here, context = self.measured_here(), self._context()
        skills = [_measured(self._within(need.scope, skill), here) for skill in self.skills() if wanted(skill)]
        standings = {skill.name: standing_of(skill, context) for skill in skills}
        return select(need, skills, standings=standings, ships=self.ships, name_of=self._name_of)

    def publish(self, skill: Skill, *, attached: Mapping[str, bytes] | None = None) -> Skill:
        """Add a skill, or only its new evidence and records if it is known, atomically; return the result.

        Args:
            attached: Files beside a new skill, by their paths.

        Raises:
            SkillError: it would be malformed, or a skill of this name has other content.
            StoreError: the home cannot be written, the disk is full, or another process holds the lock.
        """
        self._store.write(skill, attached or {})
        return self.find(skill.name)

    def propose(self, skill: Skill, *, by: str, attached: Mapping[str, bytes] | None = None) -> Skill:
        """Add a proposal, or only its new evidence to the skill or proposal that says the same; return the result.

        Records that come with it are left out: only what is decided here counts. Errors as in `publish`.
        """
        if twin := self.twin(skill):
            return self.publish(twin.model_copy(update={"evidence": skill.evidence}))
        record = record_of(skill, "propose", by=by)
        return self.publish(skill.model_copy(update={"records": (record,)}), attached=attached)

    def attest(self, *evidence: Evidence) -> None:
        """Note that the judge of this home gave this evidence. Only then does it prove anything.

        Raises:
            StoreError: the home cannot be written.
        """
        with self._store.locked():
            known = self._judged()
            if new := {e.id for e in evidence} - set(known):
                write_whole(self.home / JUDGED, "".join(f"{one}\n" for one in (*known, *sorted(new))))

    def _context(self) -> StandingContext:
        return StandingContext(versions=self._versions, stands=self._stands, today=self._today())

    def _judged(self) -> list[str]:
        path = self.home / JUDGED
        with storage_errors(self.home):
            try:
                return path.read_text(encoding="utf-8").split() if path.exists() else []
            except UnicodeDecodeError as error:
                raise SkillError(f"{path} is not text in UTF-8", hint="correct or remove it") from error


def _measured(skill: Skill, here: frozenset[str]) -> Skill:
    return skill.model_copy(update={"evidence": tuple(e for e in skill.evidence if e.id in here)})


def record_of(skill: Skill, verb: Verb, *, by: str, reason: str = "") -> SkillRecord:
    """A record of now about a skill."""
    digest = skill.content_digest
    return SkillRecord(verb=verb, skill=skill.name, content_digest=digest, created=utc_now(), by=by, reason=reason)


def utc_now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")
