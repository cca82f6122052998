"""Whatever happens to the libraries of a team, and however they are merged, nothing is lost and all see the same."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import permutations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kb.errors import SkillError
from kb.skillbook import store
from kb.skillbook.files import skill_files
from kb.skillbook.library import JUDGED, Skillbook, record_of
from kb.types.evidence import Evidence
from kb.types.skill import Skill
from tests.skillbook.conftest import TODAY, write_files
from tests.skillbook.evidence import evidence, kernel, skill

HOMES, SKILLS = 3, 5


class Killed(BaseException):
    """The end of a process."""


class Step(NamedTuple):
    verb: str
    home: int
    skill: int
    speedup: float
    """Of new evidence."""
    other: int
    """The home to merge, or the number of evidence."""
    killed_after: int | None
    """File operations before the process dies."""


STEPS = st.builds(
    Step,
    verb=st.sampled_from(["propose", "publish", "accept", "reject", "retire", "reverify", "forge"]) | st.just("merge"),
    home=st.integers(0, HOMES - 1),
    skill=st.integers(0, SKILLS - 1),
    speedup=st.sampled_from([0.9, 1.5, 2.0]),
    other=st.integers(0, 4),
    killed_after=st.none() | st.none() | st.integers(0, 6),
)


def kernel_skill(number: int, *found: Evidence) -> Skill:
    return skill(f"s{number}", candidate=kernel(f"kernel = {number}"), evidence=found)


def evidence_of(step: Step) -> Evidence:
    of = kernel_skill(step.skill).candidate
    return evidence(of, speedup=step.speedup, created=f"2025-11-2{step.other}", log=f"home {step.home}")


def library(home: Path) -> Skillbook:
    """A new one for each step, as if each were another process."""
    return Skillbook(home, shipped=home / "none", today=lambda: TODAY)


def take(step: Step, homes: list[Path], merge: Callable[[Path, Path], None]) -> set[str]:
    """Take one step; the ids of the evidence and records that it added."""
    home = homes[step.home]
    book, found = library(home), evidence_of(step)
    if not any(path.parent.name == f"s{step.skill}" for path in home.rglob("SKILL.md")):
        book.propose(kernel_skill(step.skill), by="a curator")
    match step.verb:
        case "merge":
            merge(homes[step.other % HOMES], home)
        case "forge":
            files = skill_files(kernel_skill(step.skill, found))
            path = next(path for path in files if path.startswith("evidence/"))
            write_files(Path(book.find(f"s{step.skill}").folder), {path: files[path]})
        case "propose":
            book.propose(kernel_skill(step.skill, found), by="a curator")
            return {found.id}
        case "publish":
            book.publish(kernel_skill(step.skill, found))
            return {found.id}
        case "reverify":
            known = book.find(f"s{step.skill}")
            book.attest(found)
            book.publish(known.model_copy(update={"evidence": (found,)}))
            return {found.id}
        case verb:
            known = book.find(f"s{step.skill}")
            record = record_of(known, verb, by="a curator")
            book.publish(known.model_copy(update={"records": (record,)}))
            return {record.id}
    return set()


@contextmanager
def killed_after(operations: int | None) -> Iterator[None]:
    """The process ends after this number of file operations. `test_publisher` kills real ones."""
    left = iter(range(operations if operations is not None else 10**9))

    def counted(original: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object, **named: object) -> object:
            if next(left, None) is None:
                raise Killed
            return original(*arguments, **named)

        return call

    with (
        patch.object(store, "write_synced", counted(store.write_synced)),
        patch.object(Path, "rename", counted(Path.rename)),
        suppress(Killed, SkillError),
    ):
        yield


def state(home: Path, measured: str) -> dict[str, object]:
    """What someone who trusts all measurements of the team sees."""
    home.mkdir(exist_ok=True)
    (home / JUDGED).write_text(measured)
    book = library(home)
    waiting, published = book.proposals(), book.skills()
    assert book.problems() == []
    known = [book.find(name) for name in sorted({path.parent.name for path in home.rglob("SKILL.md")})]
    standings = book.standings(known)
    return {one.name: (standings[one.name], one in waiting, one in published, ids_in(one)) for one in known}


def ids_in(one: Skill) -> set[str]:
    return {found.id for found in (*one.evidence, *one.records)}


def live(steps: list[Step], root: Path, start: Callable[[Path], None], merge: Callable[[Path, Path], None]) -> None:
    homes, kept = [root / f"home-{number}" for number in range(HOMES)], [set() for _ in range(HOMES)]
    for home in homes:
        start(home)
    for step in steps:
        with killed_after(step.killed_after):
            kept[step.home] |= take(step, homes, merge)
            if step.verb == "merge":
                kept[step.home] |= kept[step.other % HOMES]
    measured = "\n".join((home / JUDGED).read_text() for home in homes if (home / JUDGED).exists())
    states = []
    for number, order in enumerate(permutations(homes)):
        observer = root / f"observer-{number}"
        start(observer)
        for home in order:
            merge(home, observer)
        states.append(state(observer, measured))
    assert all(seen == states[0] for seen in states), "the order of merges shows"
    for home, own in zip([*homes, root / "observer-0"], [*kept, set().union(*kept)], strict=True):
        assert own <= set().union(*(ids for *_, ids in state(home, measured).values())), "a record is lost"
    altered = sorted((root / "observer-0").rglob("evidence/*.json"))
    for path in altered:
        path.write_text(path.read_text().replace("Test Machine", "Best Machine"))
    book, names = library(root / "observer-0"), {path.parents[1].name for path in altered}
    assert names.isdisjoint(book.standings()), "altered evidence counts"
    assert names == {folder.name for folder, _ in book.problems()}


def make(home: Path) -> None:
    home.mkdir()


def unite(source: Path, target: Path) -> None:
    """A merge that keeps every file of both."""
    for path in (source / "skills").rglob("*.*"):
        other = target / path.relative_to(source)
        if path.is_file() and not any(part.startswith(".stage") for part in path.parts) and not other.exists():
            other.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, other)


@pytest.mark.slow
@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(STEPS, min_size=3, max_size=10))
def test_no_record_is_lost_and_every_order_of_merges_gives_the_same_standings(steps: list[Step]) -> None:
    with TemporaryDirectory() as root:
        live(steps, Path(root), make, unite)


def git(home: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=kb", "-c", "user.email=kb@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", str(home / "skills"), *identity, *arguments], check=True, capture_output=True)


def make_repository(home: Path) -> None:
    (home / "skills").mkdir(parents=True)
    git(home, "init", "-q", "-b", "main")
    (home / "skills" / ".gitignore").write_text(".stage-*\n")


def commit(home: Path) -> None:
    git(home, "add", "-A")
    git(home, "commit", "-q", "--allow-empty", "-m", "state")


def merge_by_git(source: Path, target: Path) -> None:
    commit(source)
    commit(target)
    git(target, "fetch", "-q", str(source / "skills"), "main")
    git(target, "merge", "-q", "--allow-unrelated-histories", "-m", "merge", "FETCH_HEAD")


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(STEPS, min_size=3, max_size=14))
def test_git_merges_libraries_without_a_conflict(steps: list[Step]) -> None:
    with TemporaryDirectory() as root:
        live(steps, Path(root), make_repository, merge_by_git)
