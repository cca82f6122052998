"""The library of skills that ship with kb or belong to a home: reading, publication, proposals and search."""

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, date, datetime
from pathlib import Path

from kb.catalog import storage_errors, write_lock
from kb.errors import SkillError, did_you_mean, nearest
from kb.model.evidence import Evidence
from kb.model.skill import Skill, SkillStanding
from kb.model.skill_record import SkillRecord
from kb.skillbook.files import MAIN, load_skill, parse_skill, read_files, skill_files
from kb.skillbook.select import ANY, Need, Selection, select
from kb.skillbook.standing import StandingContext, last_decision, standings_of
from kb.skillbook.value import value_of
from kb.storage import sync_folders, write_synced, write_whole

SHIPPED = Path(__file__).parents[1] / "skills"
MEASURED = "measured"
"""File of a home with the ids of the evidence of its own judge, one in a line. It is outside `skills/`, so that no
exchange of skills brings it."""
ADDED = ("evidence/", "records/")
"""What is added to a skill after it was published."""

PUBLISH_WAIT_S = 120.0
"""How long to wait for the lock, e.g. during an ingest: losing a run's win would cost more."""

_STAGE = ".stage-"


class Skillbook:
    """The shipped skills, which are never written, and a home's skills, which replace shipped ones of the same name.

    What is learnt about a shipped skill is kept in the home, in a directory of the same name without SKILL.md.
    Proposals are in `.proposals` and are found only by `proposals` and `proposal`.

    Args:
        name_of: Gives the present name of a target, which may have been renamed since a skill was written.
        versions: Gives the versions of the software here, as `StandingContext` has them.
        stands: Whether a cited passage is still in the documents.
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
    ) -> None:
        self.home = home
        self.folder = home / "skills"
        self.proposed = self.folder / ".proposals"
        self.shipped = shipped
        self._name_of, self._versions, self._stands, self._today = name_of, versions, stands, today

    def skills(self, *, scope: frozenset[str] | None = None, language: str | None = None) -> list[Skill]:
        """The well-formed skills, sorted by name; with `scope`, only those for a target in it or for `any`."""
        return [
            skill
            for _, skill in self._read()
            if isinstance(skill, Skill)
            and (scope is None or self._name_of(skill.target) in scope | {ANY})
            and (language is None or skill.language in (None, language))
        ]

    def problems(self) -> list[tuple[Path, SkillError]]:
        """The malformed directories, and why they are."""
        found = (*self._read(), *self._read_proposals())
        return [(folder, error) for folder, error in found if isinstance(error, SkillError)]

    def get(self, name: str) -> Skill:
        """The skill called `name`.

        Raises:
            SkillError: it is malformed or does not exist; the hint then suggests similar names.
        """
        return _named(name, self._read())

    def find(self, name: str) -> Skill:
        """The skill or the proposal called `name`, even if it was rejected; errors as in `get`."""
        return _named(name, (*self._read(), *self._read_proposals()))

    def proposals(self) -> list[Skill]:
        """The well-formed proposals that wait for a decision, sorted by name."""
        found = [skill for _, skill in self._read_proposals() if isinstance(skill, Skill)]
        return [skill for skill in found if not ((last := last_decision(skill)) and last.verb == "reject")]

    def proposal(self, name: str) -> Skill:
        """The proposal called `name`, even if it was rejected.

        Raises:
            SkillError: it is malformed or does not exist.
        """
        if not (self.proposed / name / MAIN).exists():
            raise SkillError(f"there is no proposal {name!r}", hint="`kb skills queue` shows all proposals")
        return load_skill(self.proposed / name)

    def standing(self, skill: Skill) -> SkillStanding:
        """How well a skill or a proposal is proven here, as of now."""
        return self.standings(skill)[skill.name]

    def standings(self, *more: Skill) -> dict[str, SkillStanding]:
        """The standings of all skills by name; those in `more` take the place of those in the library."""
        names = {skill.name for skill in more}
        rest = [skill for skill in self.skills() if skill.name not in names]
        return standings_of([*rest, *more], self.context())

    def value(self, skill: Skill) -> float:
        """The mean outcome of the runs that took it up; see `value_of`."""
        return value_of(skill)

    def search(self, query: str, *, scope: frozenset[str] | None = None, language: str | None = None) -> list[Skill]:
        """The skills that pass the filters of `skills` and share a word with `query`, best first; see `select`."""
        found = self.select(Need(words=query, scope=scope, language=language))
        return [recalled.skill for recalled in found.offered]

    def select(self, need: Need) -> Selection:
        """The skills for a need, with the reasons for their ranks, and the others with the reason why not."""
        skills = self.skills()
        standings = standings_of(skills, self.context())
        return select(
            need,
            skills,
            standing_of=lambda skill: standings[skill.name],
            value_of=value_of,
            versions=self._versions(),
            name_of=self._name_of,
        )

    def publish(self, skill: Skill) -> Skill:
        """Add a skill, or only its new evidence and records if it is known, atomically; return the result.

        A proposal of the same content is removed.

        Raises:
            SkillError: it would be malformed, or a skill of this name has other content.
            StoreError: the home cannot be written, the disk is full, or another process holds the lock.
        """
        self._write(skill, self.folder)
        return self.get(skill.name)

    def propose(self, skill: Skill) -> Skill:
        """Add a proposal, or only its new evidence if it is known as proposal or skill; return the result.

        Records that come with it are left out: only what is decided and used here counts. Errors as in `publish`.
        """
        self._write(skill.model_copy(update={"records": ()}), self.proposed)
        return self.get(skill.name) if (self._main(skill.name)).exists() else self.proposal(skill.name)

    def accept(self, name: str, by: str, reason: str) -> Skill:
        """Record that a curator accepts a skill or a proposal, which is then published.

        Raises:
            SkillError: there is no such skill or proposal, or it is malformed.
        """
        skill = self.proposal(name) if (self.proposed / name / MAIN).exists() else self.get(name)
        record = SkillRecord(
            verb="accept", skill=name, content_digest=skill.content_digest, created=utc_now(), by=by, reason=reason
        )
        return self.publish(skill.model_copy(update={"records": (*skill.records, record)}))

    def record(self, skill: Skill, record: SkillRecord) -> None:
        """Add a record about a skill or a proposal; errors as in `publish`."""
        root = self.folder if self._main(skill.name).exists() else self.proposed
        self._write(skill.model_copy(update={"records": (*skill.records, record)}), root)

    def attest(self, *evidence: Evidence) -> None:
        """Note that the judge of this home gave this evidence. Only then does it prove anything.

        Raises:
            StoreError: the home cannot be written.
        """
        with self._locked():
            ids = dict.fromkeys([*self._measured(), *(e.id for e in evidence)])
            write_whole(self.home / MEASURED, "".join(f"{known}\n" for known in ids))

    def context(self) -> StandingContext:
        """What standings depend on beside the library, as of now."""
        known = set(self._measured())
        return StandingContext(
            measured=lambda skill, evidence: evidence.id in known,
            versions=self._versions(),
            stands=self._stands,
            today=self._today(),
        )

    def _measured(self) -> list[str]:
        """Ids of the evidence that was measured here."""
        path = self.home / MEASURED
        with storage_errors(self.home):
            return path.read_text(encoding="utf-8").split() if path.exists() else []

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with write_lock(self.home, wait_s=PUBLISH_WAIT_S), storage_errors(self.home):
            yield

    def _main(self, name: str) -> Path:
        """Path of SKILL.md of a published or shipped skill; the home's takes precedence."""
        own = self.folder / name / MAIN
        return own if own.exists() or not (self.shipped / name / MAIN).exists() else self.shipped / name / MAIN

    def _write(self, skill: Skill, root: Path) -> None:
        """Write a skill into `root`; what is published already gets only its new evidence and records."""
        files, proposal = skill_files(skill), self.proposed / skill.name
        parse_skill(root / skill.name, files)
        with self._locked():
            for held in (self._main(skill.name), proposal / MAIN):
                if held.exists() and load_skill(held.parent).content_digest != skill.content_digest:
                    raise SkillError(
                        f"{held.parent} holds other content",
                        hint="the content of a skill never changes: publish other content under another name",
                    )
            self.folder.mkdir(parents=True, exist_ok=True)
            for remains in self.folder.glob(f"{_STAGE}*"):  # left by a process that died while it held the lock
                shutil.rmtree(remains)
            if self._main(skill.name).exists():
                files = {path: content for path, content in files.items() if path.startswith(ADDED)}
                root = self.folder
            if root == self.folder:
                self._move_in(root / skill.name, read_files(proposal) | files)
                shutil.rmtree(proposal, ignore_errors=True)
            else:
                self.proposed.mkdir(exist_ok=True)
                self._move_in(proposal, files)

    def _move_in(self, folder: Path, files: Mapping[str, bytes]) -> None:
        """Write `files` to a staging folder, then rename it to `folder`, or move in only what `folder` lacks."""
        with tempfile.TemporaryDirectory(prefix=_STAGE, dir=self.folder) as stage:
            staged = Path(stage) / folder.name
            for path, content in files.items():
                (staged / path).parent.mkdir(parents=True, exist_ok=True)
                write_synced(staged / path, content)
            if folder.exists():
                for path in sorted(files, key=lambda path: path == MAIN):  # a folder with SKILL.md is complete
                    (folder / path).parent.mkdir(exist_ok=True)
                    if not (folder / path).exists():
                        (staged / path).rename(folder / path)
                sync_folders(*{(folder / path).parent for path in files})
            elif files:
                sync_folders(*{(staged / path).parent for path in files})
                staged.rename(folder)
        sync_folders(folder.parent, self.folder, self.home)

    def _read(self) -> Iterator[tuple[Path, Skill | SkillError]]:
        """Each published or shipped skill by its directory, in the order of their names."""
        names = {folder.name for root in (self.shipped, self.folder) for folder in self._folders(root)}
        for name in sorted(names):
            folder = self._main(name).parent
            try:
                yield folder, parse_skill(folder, self._files(folder))
            except SkillError as error:
                yield folder, error

    def _read_proposals(self) -> Iterator[tuple[Path, Skill | SkillError]]:
        """Each proposal that is not published yet, by its directory."""
        for folder in self._folders(self.proposed):
            if not self._main(folder.name).exists():
                try:
                    yield folder, load_skill(folder)
                except SkillError as error:
                    yield folder, error

    def _files(self, folder: Path) -> dict[str, bytes]:
        """The files of a skill, with what the home has learnt about it."""
        files = read_files(folder)
        for other in (self.folder / folder.name, self.proposed / folder.name):
            added = read_files(other)
            if added.get(MAIN, files.get(MAIN)) == files.get(MAIN):
                files = added | files
        return files

    def _folders(self, root: Path) -> list[Path]:
        with storage_errors(self.home):
            found = sorted(root.iterdir()) if root.is_dir() else []
            return [path for path in found if path.is_dir() and not path.name.startswith(".")]


def _named(name: str, among: Iterable[tuple[Path, Skill | SkillError]]) -> Skill:
    """The skill with this name; errors as in `Skillbook.get`."""
    found = {folder.name: skill for folder, skill in among}
    if isinstance(skill := found.get(name), Skill):
        return skill
    if skill:
        raise skill
    hint = f"{did_you_mean(nearest(name, list(found)))}`kb skills list` shows all skills"
    raise SkillError(f"unknown skill {name!r}", hint=hint)


def utc_now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")
