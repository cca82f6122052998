"""A home that an earlier kb wrote opens, and its skills keep what was measured of them and decided about them."""

import shutil
from pathlib import Path

import pytest

from kb.runs.journal import Runs
from kb.settings import Settings
from kb.skillbook.library import Skillbook
from kb.skillbook.lint import lint
from kb.skillbook.select import Need
from kb.types.evidence import Evidence, Outcome
from kb.usecases.knowledge_base import KnowledgeBase
from tests.skillbook.conftest import TODAY, decided
from tests.skillbook.evidence import KERNEL

EARLIER = Path(__file__).parent / "earlier"
STANDINGS = {
    "accepted-kernel": "verified",  # it was `active`
    "accepted-pitfall": "verified",
    "accepted-playbook": "verified",
    "accepted-technique": "verified",
    "claimed-kernel": "hypothesis",
    "rejected-technique": "retired",
    "replaced-kernel": "retired",  # it was `superseded`
    "restored-kernel": "verified",
    "row-sum-cpu-x86-41973354": "verified",
    "row-sum-template": "hypothesis",
    "screened-kernel": "screened",
    "stale-kernel": "stale",
}


@pytest.fixture
def earlier(home: Path) -> Path:
    return Path(shutil.copytree(EARLIER, home, ignore=shutil.ignore_patterns("README.md")))


@pytest.fixture
def library(earlier: Path) -> Skillbook:
    return Skillbook(earlier, shipped=earlier / "none", today=lambda: TODAY)


def test_every_earlier_standing_is_one_of_the_five(library: Skillbook) -> None:
    assert library.problems() == []
    assert library.standings() == STANDINGS
    assert [one.name for one in library.proposals()] == ["waiting-kernel"]


def test_what_waits_in_the_folder_of_an_earlier_version_can_be_decided_on(library: Skillbook) -> None:
    decided(library, "waiting-kernel", "accept")

    assert library.proposals() == []
    assert "waiting-kernel" in library.standings()
    assert not (library.folder / "waiting-kernel" / "SKILL.md").exists()


def test_what_earlier_fields_held_is_no_error_and_no_content(library: Skillbook) -> None:
    skill = library.find("accepted-kernel")

    assert (skill.preconditions.ops, skill.preconditions.dtypes) == (("softmax",), ("float32", "float16"))
    assert [record.verb for record in skill.records] == ["accept", "use", "use"]
    assert {f.rule for f in lint(skill.folder) + lint(library.find("accepted-technique").folder)} == {"form"}
    assert not [f for f in lint(skill.folder) if f.severity == "error"]


def test_earlier_files_stay_as_they_are_when_something_is_added(library: Skillbook) -> None:
    before = {path: path.read_bytes() for path in library.folder.rglob("*") if path.is_file()}

    for name in ("accepted-kernel", "accepted-technique"):
        decided(library, name, "retire")
    library.propose(library.find("accepted-kernel"), by="ann")

    assert {path: path.read_bytes() for path in before} == before
    assert [library.standing(library.find(name)) for name in ("accepted-kernel", "accepted-technique")] == [
        "retired"
    ] * 2
    assert library.standing(decided(library, "replaced-kernel", "accept")) == "verified"


def test_a_run_gets_what_was_proven_or_accepted(library: Skillbook) -> None:
    offered = [one.skill.name for one in library.select(Need(target="mi300x", scope=frozenset({"mi300x"}))).offered]

    assert sorted(offered) == [
        *("accepted-kernel", "accepted-pitfall", "accepted-playbook", "accepted-technique", "restored-kernel"),
        "stale-kernel",
    ]


def test_earlier_runs_and_settings_are_read(earlier: Path) -> None:
    with KnowledgeBase(Settings.load(earlier)) as kb:
        assert kb.settings.skill_licence == "MIT"

    run, control = Runs(earlier)
    assert Runs(earlier).problems() == []
    assert (run.published, control.published, control.plan.control) == (("row-sum-cpu-x86-41973354",), (), True)
    assert any(attempt.recalled for attempt in run.attempts)


def test_evidence_with_fields_of_another_version_keeps_them_and_its_digest(library: Skillbook) -> None:
    found = library.find("accepted-kernel").evidence[0]
    stated = found.stated
    stated["timing"]["sessions"][0]["phase_of_the_moon"] = stated["weather"] = "new"

    read = Evidence.model_validate(stated)

    assert read.stated == stated
    assert read.candidate_digest == KERNEL.digest


def test_an_outcome_that_only_earlier_versions_had_is_read() -> None:
    assert Outcome("untried") is Outcome.UNSUPPORTED
