"""The library of skills that ship with kb or belong to a home: search, publication, and the skill for a win."""

import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import takewhile
from pathlib import Path

from kb.catalog import storage_errors, write_lock
from kb.catalog.words import identifier_words, match_expression, query_words
from kb.errors import SkillError, did_you_mean, nearest
from kb.model.evidence import Evidence, Timing
from kb.model.kernels import Candidate, Interface, Task, digest_of
from kb.model.protocols import Attempt
from kb.model.skill import Skill, SkillStanding
from kb.skillbook.files import load_skill, one_line, parse_skill, skill_files
from kb.storage import slug, sync_folders, write_synced

SHIPPED = Path(__file__).parents[1] / "skills"
ANY = "any"
"""Target of skills that are for every target."""
COLUMN_WEIGHTS = (4.0, 4.0, 1.0, 1.0, 1.0)
"""BM25 weights of name, description, body, code and identifiers: what a skill is for outweighs what it mentions."""
FAILURES_SHOWN = 12
WHY = "Why it should be fast"

PUBLISH_WAIT_S = 120.0
"""How long to wait for the lock, e.g. during an ingest: losing a run's win would cost more."""

_STAGE = ".stage-"


class Skillbook:
    """The shipped skills, which are never written, and a home's skills, which replace shipped ones of the same name.

    Args:
        name_of: Gives the present name of a target, which may have been renamed since a skill was written.
    """

    def __init__(
        self, home: Path, *, shipped: Path = SHIPPED, name_of: Callable[[str], str] = lambda name: name
    ) -> None:
        self.home = home
        self.folder = home / "skills"
        self.shipped = shipped
        self._name_of = name_of

    def skills(self, *, scope: frozenset[str] | None = None, language: str | None = None) -> list[Skill]:
        """The well-formed skills, sorted by name; with `scope`, only those for a target in it or for `any`."""
        found = {skill.name: skill for _, skill in self._read() if isinstance(skill, Skill)}
        return [
            skill
            for _, skill in sorted(found.items())
            if (scope is None or self._name_of(skill.target) in scope | {ANY})
            and language in (None, skill.candidate.language)
        ]

    def problems(self) -> list[tuple[Path, SkillError]]:
        """The malformed directories, and why they are."""
        return [(folder, error) for folder, error in self._read() if isinstance(error, SkillError)]

    def get(self, name: str) -> Skill:
        """The skill called `name`.

        Raises:
            SkillError: it is malformed or does not exist; the hint then suggests similar names.
        """
        known = {skill.name: skill for skill in self.skills()}
        if name in known:
            return known[name]
        for folder, error in self.problems():
            if folder.name == name:
                raise error
        hint = f"{did_you_mean(nearest(name, list(known)))}`kb skills list` shows all skills"
        raise SkillError(f"unknown skill {name!r}", hint=hint)

    def search(self, query: str, *, scope: frozenset[str] | None = None, language: str | None = None) -> list[Skill]:
        """The skills that pass the filters of `skills` and share a word with `query`, best first.

        Words in the name count most, because the name says what a skill is for and words such as `row` are in most
        bodies. Skills with equally good names are ranked by standing, then BM25, then speed-up. If no skill shares a
        word with the query, all that pass the filters are ranked.
        """
        skills = self.skills(scope=scope, language=language)
        scores = _scores(skills, query) or dict.fromkeys(range(len(skills)), 0.0)
        words = set(query_words(query))

        def rank(place: int) -> tuple[float, ...]:
            skill = skills[place]
            named, standing = len(words & set(skill.name.split("-"))), list(SkillStanding).index(skill.standing)
            speedup = (skill.best.speedup if skill.best else None) or 0.0
            return -named, standing if named else 0, -round(scores[place], 2), standing, -speedup, place

        return [skills[place] for place in sorted(scores, key=rank)]

    def publish(self, skill: Skill) -> Skill:
        """Add a skill, or add its evidence to an existing skill with the same code, atomically; return the result.

        Raises:
            SkillError: it would be malformed, or a skill of this name has other code.
            StoreError: the home cannot be written, the disk is full, or another process holds the lock.
        """
        folder, files = self.folder / skill.name, skill_files(skill)
        parse_skill(folder, files)
        with write_lock(self.home, wait_s=PUBLISH_WAIT_S), storage_errors(self.home):
            for held in (self.shipped / skill.name, folder):
                if held.exists() and load_skill(held).candidate != skill.candidate:
                    raise SkillError(
                        f"{held} holds other code",
                        hint="the code of a skill never changes: publish other code under another name",
                    )
            self.folder.mkdir(parents=True, exist_ok=True)
            for remains in self.folder.glob(f"{_STAGE}*"):  # left by a process that died while it held the lock
                shutil.rmtree(remains)
            self._move_in(folder, files)
        return load_skill(folder)

    def _move_in(self, folder: Path, files: Mapping[str, bytes]) -> None:
        """Write `files` to a staging folder, then rename it into place, or only new evidence if the skill exists."""
        with tempfile.TemporaryDirectory(prefix=_STAGE, dir=self.folder) as stage:
            staged = Path(stage) / folder.name
            for path, content in files.items():
                (staged / path).parent.mkdir(parents=True, exist_ok=True)
                write_synced(staged / path, content)
            if folder.exists():
                (folder / "evidence").mkdir(exist_ok=True)
                for path in files:
                    if path.startswith("evidence/") and not (folder / path).exists():
                        (staged / path).rename(folder / path)
                sync_folders(folder / "evidence", folder)
            else:
                sync_folders(*{(staged / path).parent for path in files})
                staged.rename(folder)
        sync_folders(self.folder, self.home)

    def _read(self) -> Iterator[tuple[Path, Skill | SkillError]]:
        for root in (self.shipped, self.folder):
            with storage_errors(self.home):
                folders = sorted(p for p in root.iterdir() if p.is_dir()) if root.is_dir() else []
            for folder in folders:
                if not folder.name.startswith("."):
                    try:
                        yield folder, load_skill(folder)
                    except SkillError as error:
                        yield folder, error


def _scores(skills: Sequence[Skill], query: str) -> dict[int, float]:
    """BM25 score, by list index, of each skill that shares a word with `query`; higher is better."""
    words = query_words(query)
    with closing(sqlite3.connect(":memory:")) as db:
        columns = "name, description, body, code, identifiers"
        db.execute(f"CREATE VIRTUAL TABLE lexical USING fts5 ({columns}, tokenize = 'porter unicode61')")
        for place, skill in enumerate(skills):
            texts = (skill.name, skill.description, skill.body, skill.candidate.source)
            row = (place, *texts, identifier_words("\n".join(texts)))
            db.execute(f"INSERT INTO lexical (rowid, {columns}) VALUES (?, ?, ?, ?, ?, ?)", row)
        score = f"-bm25(lexical, {', '.join(map(str, COLUMN_WEIGHTS))})"
        found = f"SELECT rowid, {score} FROM lexical WHERE lexical MATCH ?"
        return dict(db.execute(found, (match_expression(words),))) if words else {}


def skill_of_win(
    task: Task,
    candidate: Candidate,
    evidence: Evidence,
    *,
    suffix: str,
    note: str = "",
    failed: Sequence[Attempt] = (),
    interface: Interface | None = None,
    parent: Skill | None = None,
) -> Skill:
    """The skill to publish for a candidate that won. Every number in it comes from the judge.

    Args:
        suffix: Suffix of the candidate's file in its language.
        note: The synthesizer's note on the candidate; quoted.
        failed: Attempts on the same task that were refused or slower.
        interface: Interface of the task.
        parent: The skill with the same kernel, possibly with other parameter values; its description is passed on.

    Raises:
        SkillError: `evidence` is not a win, or not for this candidate and task.
    """
    timing, target = evidence.timing, evidence.target
    own = (evidence.candidate_digest, evidence.task_digest) == (candidate.digest, task.digest)
    if timing is None or not (evidence.won and own):
        raise SkillError(
            f"candidate {candidate.digest[:12]} has not won on task {task.name!r}",
            hint="only a candidate that the judge measured as faster than the best baseline becomes a skill",
        )
    name = f"{slug(f'{task.name}-{target}')[:55].rstrip('-')}-{digest_of(task.digest + candidate.digest)[:8]}"
    machine = evidence.environment.get("machine", target)
    gain = f"{timing.speedup:.2f} times as fast as {timing.baseline} on {machine}"
    parameters = [(p.name, p.value, ", ".join(map(str, p.choices))) for p in candidate.parameters]
    failures = dict.fromkeys(_failure(a, candidate) for a in failed if a.candidate.digest != candidate.digest)
    sections = {
        "What": f"A {candidate.language} kernel for the task `{task.name}`, {gain}.",
        "When to use": f"For that task on {target}, or as a start for a similar task.{_tensors(interface)}",
        "When not to use": "On another target or at other sizes, unless it is measured there: it was correct in "
        f"{len(evidence.cases)} case(s), and timed on {target} at the sizes in the task's file.",
        WHY: f"In the words of its synthesizer, unchecked:\n\n> {one_line(note, 2000) or '(none)'}",
        "Parameters": _table(("parameter", "value", "choices"), *parameters) if parameters else "None are declared.",
        "Evidence": _measured(evidence, timing),
        "What failed": "\n".join(list(failures)[:FAILURES_SHOWN]) or "Nothing is recorded.",
    }
    about = f"Use it to write or tune a kernel for that task or a similar one on {target}."
    if parent:
        same = parent.candidate.digest == candidate.digest
        about = f"It is {parent.name}{'' if same else ' with other parameters'}. {parent.description}"
        for title in ("When to use", "When not to use", WHY):
            if said := section(parent.body, title):
                sections[title] += f"\n\nFrom {parent.name}:\n\n{said}"
    return Skill(
        name=name,
        description=one_line(f"A {candidate.language} kernel for {task.name}, {gain}. {about}", 1024),
        body="\n\n".join([f"# {name}", *(f"## {title}\n\n{text}" for title, text in sections.items())]),
        target=target,
        candidate=candidate,
        suffix=suffix,
        evidence=(evidence,),
    )


def _measured(evidence: Evidence, timing: Timing) -> str:
    """The judge's measurements, as a table and two sentences."""
    measured = {
        "machine": evidence.environment.get("machine", evidence.target),
        "kernel (us)": f"{timing.candidate_us:.2f}",
        "baseline": timing.baseline,
        "baseline (us)": f"{timing.baseline_us:.2f}",
        "speed-up": f"{timing.speedup:.2f}",
        "95 % interval": f"{timing.low:.2f} to {timing.high:.2f}",
        "sessions": len(timing.sessions),
    }
    baselines = [f"{what} {us:.2f} us" for what, us in timing.baselines_us.items()]
    versions = [f"{what} {which}" for what, which in sorted(evidence.environment.items()) if what != "machine"]
    return (
        f"{_table(measured, measured.values())}\n\nBaselines tried: {', '.join(baselines)}.\n\n"
        f"Made with: {', '.join(versions) or 'not recorded'}."
    )


def section(body: str, title: str) -> str:
    """The text below a heading of a skill's body; empty if there is no such heading."""
    below = body.partition(f"## {title}\n")[2].splitlines()
    return "\n".join(takewhile(lambda line: not line.startswith("## "), below)).strip()


def _tensors(interface: Interface | None) -> str:
    """Inputs, state and outputs of the task, as a list."""
    if interface is None:
        return ""
    groups = {"inputs": interface.inputs, "state": interface.state, "outputs": interface.outputs}
    return "\n" + "".join(f"\n- {name}: {', '.join(map(str, specs))}" for name, specs in groups.items() if specs)


def _failure(attempt: Attempt, winner: Candidate) -> str:
    """One list item that says what was tried and how it failed."""
    candidate, evidence = attempt.candidate, attempt.evidence
    what = one_line(attempt.note, 100) or "another kernel"
    if candidate.template_digest == winner.template_digest:
        changed = [f"{p.name} = {p.value}" for p in candidate.parameters if p not in winner.parameters]
        what = ", ".join(changed) or what
    if evidence.timing and not evidence.timing.busy:
        return f"- {what}: {evidence.timing.speedup:.2f} times as fast as {evidence.timing.baseline}"
    came = "passed, not timed" if evidence.passed else one_line(f"{evidence.outcome} {evidence.detail}", 200)
    return f"- {what}: {came}"


def _table(header: Iterable[object], *rows: Iterable[object]) -> str:
    lines = ["| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in (header, *rows)]
    return "\n".join((lines[0], "|---" * len(list(header)) + "|", *lines[1:]))
