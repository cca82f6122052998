"""The library of skills that ship with kb or belong to a home: reading, publication, proposals and search."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path

from kb.catalog import storage_errors
from kb.errors import SkillError, did_you_mean, nearest
from kb.skillbook.duplicates import twin_of
from kb.skillbook.files import evidence_text
from kb.skillbook.select import ANY, Need, Selection, select
from kb.skillbook.signatures import sign, signer
from kb.skillbook.standing import StandingContext, last_decision, proven, standings_of
from kb.skillbook.store import SkillStore
from kb.skillbook.value import value_of
from kb.storage import write_whole
from kb.types.evidence import Evidence
from kb.types.skill import Skill, SkillStanding
from kb.types.skill_record import SkillRecord

SHIPPED = Path(__file__).parents[1] / "skills"
JUDGED = "judged"
"""File of a home with the ids of the evidence that its own judge gave, one in a line. It is outside `skills/`, so that
no exchange of skills brings it."""
ALLOWED_SIGNERS = "allowed_signers"
"""File of a home with the public keys of those whose evidence counts here, as ssh-keygen(1) describes it."""


class Skillbook:
    """The shipped skills, which are never written, and a home's skills, which replace shipped ones of the same name.

    Proposals are in `.proposals` and are found only by `proposals` and `find`.

    Args:
        name_of: Gives the present name of a target, which may have been renamed since a skill was written.
        versions: Gives the versions of the software here, as `StandingContext` has them.
        stands: Whether a cited passage is still in the documents.
        key: The SSH key that signs the evidence of this home.
        licence: Licence of the skills that are written here.
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
        key: Path | None = None,
        licence: str = "",
    ) -> None:
        self.home = home
        self._store = SkillStore(home, shipped)
        self.folder = self._store.folder
        self._name_of, self._versions, self._stands, self._today = name_of, versions, stands, today
        self._key, self.licence = key, licence

    def skills(self, *, scope: frozenset[str] | None = None, language: str | None = None) -> list[Skill]:
        """The well-formed skills, sorted by name.

        With `scope` only those for a target in it or for `any`, with what was measured on targets in it.
        """
        return [
            self._within(scope, skill)
            for _, skill in self._store.published()
            if isinstance(skill, Skill)
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

    def problems(self, *, proposals: bool = True) -> list[tuple[Path, SkillError]]:
        """The malformed directories of skills, and of `proposals`, and why they are."""
        found = (*self._store.published(), *(self._store.proposals() if proposals else ()))
        return [(folder, error) for folder, error in found if isinstance(error, SkillError)]

    def get(self, name: str) -> Skill:
        """The skill called `name`.

        Raises:
            SkillError: it is malformed or does not exist; the hint then suggests similar names.
        """
        return _named(name, self._store.published())

    def find(self, name: str) -> Skill:
        """The skill or the proposal called `name`, even if it was rejected; errors as in `get`."""
        return _named(name, (*self._store.proposals(), *self._store.published()))

    def proposals(self) -> list[Skill]:
        """The well-formed proposals that wait for a decision, sorted by name."""
        found = [skill for _, skill in self._store.proposals() if isinstance(skill, Skill)]
        return [skill for skill in found if not ((last := last_decision(skill)) and last.verb == "reject")]

    def waiting(self, name: str) -> Skill | None:
        """The proposal called `name` that waits for a decision. A skill of that name may hold other content."""
        return next((skill for skill in self.proposals() if skill.name == name), None)

    def rejected_twin(self, skill: Skill) -> Skill | None:
        """A rejected proposal that says the same, if nothing else here does."""
        rejected = [found for _, found in self._store.proposals() if isinstance(found, Skill)]
        names = {found.name for found in self.proposals()}
        kept = [*self.skills(), *self.proposals()]
        return None if twin_of(skill, kept) else twin_of(skill, [s for s in rejected if s.name not in names])

    def standing(self, skill: Skill) -> SkillStanding:
        """How well a skill or a proposal is proven here, as of now."""
        return self.standings(skill)[skill.name]

    def standings(self, *more: Skill) -> dict[str, SkillStanding]:
        """The standings of all skills by name; those in `more` take the place of those in the library."""
        return standings_of(self._with(more), self.context()).of

    def resting(self, skill: Skill) -> tuple[str, ...]:
        """The active skills because of which an accepted and proven skill or proposal is not active; empty if it is."""
        return standings_of(self._with([skill]), self.context()).resting.get(skill.name, ())

    def _with(self, more: Sequence[Skill]) -> list[Skill]:
        """All skills, with those in `more` in the place of those of the same names."""
        names = {skill.name for skill in more}
        return [*(skill for skill in self.skills() if skill.name not in names), *more]

    def measured(self, skill: Skill) -> Skill:
        """The skill without evidence that is only claimed."""
        return _measured(skill, self.context())

    def value(self, skill: Skill) -> float:
        """The mean outcome of the runs that took it up; see `value_of`."""
        return value_of(skill)

    def search(self, query: str, *, scope: frozenset[str] | None = None, language: str | None = None) -> list[Skill]:
        """The skills that pass the filters of `skills` and share a word with `query`, best first; see `select`."""
        found = self.select(Need(words=query, scope=scope, language=language))
        return [recalled.skill for recalled in found.offered]

    def select(self, need: Need) -> Selection:
        """The skills for a need, with the reasons for their ranks, and the others with the reason why not.

        The skills come without evidence that is only claimed, or that holds for other targets than the need's.
        """
        skills, context = [self._within(need.scope, skill) for skill in self.skills()], self.context()
        standings = standings_of(skills, context).of
        return select(
            need,
            [_measured(skill, context) for skill in skills],
            standing_of=lambda skill: standings[skill.name],
            value_of=value_of,
            versions=self._versions,
            name_of=self._name_of,
        )

    def publish(self, skill: Skill) -> Skill:
        """Add a skill, or only its new evidence and records if it is known, atomically; return the result.

        A proposal of the same content becomes the skill.

        Raises:
            SkillError: it would be malformed, or a skill of this name has other content.
            StoreError: the home cannot be written, the disk is full, or another process holds the lock.
        """
        self._store.write(self._signed(skill), self._store.folder)
        return self.get(skill.name)

    def propose(self, skill: Skill) -> Skill:
        """Add a proposal, or only its new evidence if there is such a skill or proposal already; return the result.

        Records that come with it are left out: only what is decided and used here counts. Errors as in `publish`.
        """
        proposals = [found for _, found in self._store.proposals() if isinstance(found, Skill)]
        if twin := twin_of(skill, [*self.skills(), *proposals]):
            skill = twin.model_copy(update={"evidence": skill.evidence, "signatures": skill.signatures})
        self._store.write(self._signed(skill.model_copy(update={"records": ()})), self._store.proposed)
        return self.find(skill.name)

    def accept(self, name: str, by: str, reason: str) -> Skill:
        """Record that a curator accepts a skill or a proposal, which is then published.

        Raises:
            SkillError: there is no such skill or proposal, it is malformed, or it would be one too many of its kind.
        """
        skill = self.waiting(name) or self.find(name)
        self.must_have_room(skill)
        record = SkillRecord(
            verb="accept", skill=name, content_digest=skill.content_digest, created=utc_now(), by=by, reason=reason
        )
        return self.publish(skill.model_copy(update={"records": (*skill.records, record)}))

    def record(self, skill: Skill, record: SkillRecord) -> None:
        """Add a record about a skill or a proposal; errors as in `publish`."""
        self._store.write(skill.model_copy(update={"records": (*skill.records, record)}), self._store.proposed)

    def attest(self, *evidence: Evidence) -> None:
        """Note that the judge of this home gave this evidence. Only then does it prove anything.

        Raises:
            StoreError: the home cannot be written.
        """
        with self._store.locked():
            known = self._judged()
            if new := {e.id for e in evidence} - set(known):
                write_whole(self.home / JUDGED, "".join(f"{one}\n" for one in (*known, *sorted(new))))

    def measurer(self) -> Callable[[Skill, Evidence], str]:
        """A function that says who measured evidence: `here`, the name of someone who is trusted here, or no one."""
        known, allowed = set(self._judged()), self._text(ALLOWED_SIGNERS)

        def who(skill: Skill, evidence: Evidence) -> str:
            if (own := evidence.id) in known:
                return "here"
            signature = skill.signatures.get(own) if allowed else None
            return signer(evidence_text(evidence), signature, allowed) if signature else ""

        return who

    def must_have_room(self, skill: Skill) -> None:
        """Raises SkillError if enough skills are active where it holds, and it is not faster than one of them."""
        context = self.context()
        active = [one for one in standings_of(self.skills(), context).active if one.skill.name != skill.name]
        newcomer = proven(skill, context)
        if not newcomer.has_room(active):
            rivals = [one.skill.name for one in newcomer.rivals(active)]
            raise SkillError(
                f"{len(rivals)} skills are active where {skill.name} holds, and it takes the place of none: it is not "
                "faster than one in its language everywhere",
                hint=f"retire one of them first: {', '.join(sorted(rivals))}",
            )

    def context(self) -> StandingContext:
        """What standings depend on beside the library, as of now."""
        who = self.measurer()
        return StandingContext(
            measured=lambda skill, evidence: bool(who(skill, evidence)),
            versions=self._versions,
            stands=self._stands,
            today=self._today(),
        )

    def _judged(self) -> list[str]:
        """Ids of the evidence that the judge of this home gave."""
        return self._text(JUDGED).split()

    def _text(self, name: str) -> str:
        """The text of a file of the home; empty if there is none. Raises SkillError if it is not text."""
        path = self.home / name
        with storage_errors(self.home):
            try:
                return path.read_text(encoding="utf-8") if path.exists() else ""
            except UnicodeDecodeError as error:
                raise SkillError(f"{path} is not text in UTF-8", hint="correct or remove it") from error

    def _signed(self, skill: Skill) -> Skill:
        """The skill with signatures of what was measured here, if the home has a key."""
        if self._key is None:
            return skill
        known = set(self._judged()) - set(skill.signatures)
        new = {e.id: sign(evidence_text(e), self._key) for e in skill.evidence if e.id in known}
        return skill.model_copy(update={"signatures": {**skill.signatures, **new}})


def _named(name: str, among: Iterable[tuple[Path, Skill | SkillError]]) -> Skill:
    """The skill with this name; errors as in `Skillbook.get`."""
    found = {folder.name: skill for folder, skill in among}
    if isinstance(skill := found.get(name), Skill):
        return skill
    if skill:
        raise skill
    hint = f"{did_you_mean(nearest(name, list(found)))}`kb skills list` shows all skills"
    raise SkillError(f"unknown skill {name!r}", hint=hint)


def _measured(skill: Skill, context: StandingContext) -> Skill:
    return skill.model_copy(update={"evidence": tuple(e for e in skill.evidence if context.measured(skill, e))})


def utc_now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")
