"""Skills are found by target, language and words, best proven first; publishing loses and alters nothing."""

import shutil
import time
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from kb.errors import SkillError
from kb.skillbook.library import Skillbook
from kb.skillbook.select import Need
from kb.types.skill import Skill
from tests.skillbook.conftest import measured, write
from tests.skillbook.evidence import KERNEL, evidence, kernel, skill, timing


def names(skills: list[Skill]) -> list[str]:
    return [skill.name for skill in skills]


def test_a_home_without_skills_has_none(book: Skillbook) -> None:
    assert (book.skills(), book.problems(), book.search("softmax")) == ([], [], [])


def test_skills_are_listed_by_name_and_those_of_the_home_replace_shipped_ones(book: Skillbook, shipped: Path) -> None:
    write(shipped, skill("b"), skill("c", body="shipped"))
    write(book.folder, skill("c", body="of the home"), skill("a"))

    assert names(book.skills()) == ["a", "b", "c"]
    assert book.find("c").body == "of the home"
    assert book.find("b").folder == shipped / "b"


def test_a_malformed_skill_is_reported_and_hides_no_other(book: Skillbook, shipped: Path) -> None:
    write(shipped, skill("b"))
    write(book.folder, skill("a"), skill("c"))
    (book.folder / "a" / "SKILL.md").unlink()

    assert names(book.skills()) == ["b", "c"]
    assert [folder for folder, _ in book.problems()] == [book.folder / "a"]


TIMELESS = {
    "no session": {"sessions": ()},
    "a speed-up of 0": {"sessions": (timing(2.0).sessions[0].model_copy(update={"speedup": 0.0}),) * 3},
}


@pytest.mark.parametrize("times", TIMELESS.values(), ids=TIMELESS)
def test_evidence_of_times_that_nobody_can_measure_is_a_defect_of_its_file_alone(
    book: Skillbook, shipped: Path, times: dict[str, Any]
) -> None:
    found = evidence(speedup=2.0)
    bad = found.model_copy(update={"timing": timing(2.0).model_copy(update=times)})
    write(shipped, skill("a"), skill("b", evidence=(bad,)))
    book.attest(bad)

    ((folder, problem),) = book.problems()

    assert (folder, names(book.skills()), names(book.search("softmax"))) == (shipped / "b", ["a"], ["a"])
    assert f"evidence/2025-11-20-mi300x-{bad.id[:12]}.json: timing.sessions" in problem.message
    assert book.standings() == {"a": "hypothesis"}


def test_files_and_dot_directories_are_not_skills(book: Skillbook) -> None:
    write(book.folder, skill("a"))
    (book.folder / "README.md").write_text("about", encoding="utf-8")
    (book.folder / "a").rename(book.folder / ".stage-a")

    assert (book.skills(), book.problems()) == ([], [])


def test_folders_of_a_skill_that_are_links_to_it_are_read_once(book: Skillbook, shipped: Path) -> None:
    write(shipped, skill(name="softmax"))
    for name in ("scripts", "evidence", "records"):
        folder = shipped / "softmax" / name
        if folder.exists():
            (folder / name).symlink_to("..")
        else:
            folder.symlink_to(".")
    start = time.monotonic()

    list(book._store.skills())

    assert time.monotonic() - start < 5


def test_an_unknown_skill_is_an_error_that_suggests_similar_names(book: Skillbook) -> None:
    write(book.folder, skill("row-softmax"), skill("matmul"))

    with pytest.raises(SkillError, match="'row-softmx'") as refusal:
        book.find("row-softmx")

    assert "did you mean row-softmax?" in refusal.value.hint


def test_getting_a_malformed_skill_is_an_error_that_names_the_problem(book: Skillbook) -> None:
    write(book.folder, skill("a"))
    (book.folder / "a" / "scripts" / "kernel.py").unlink()

    with pytest.raises(SkillError, match=r"kernel\.\*: it is missing"):
        book.find("a")


# Search


def test_only_skills_for_a_target_in_scope_or_for_any_are_found(book: Skillbook, shipped: Path) -> None:
    write(shipped, *(skill(target, target=target) for target in ("any", "cdna3", "mi300x", "hopper")))

    for found in (
        book.skills(scope=frozenset({"mi300x", "cdna3"})),
        book.search("", scope=frozenset({"cdna3", "mi300x"})),
    ):
        assert sorted(names(found)) == ["any", "cdna3", "mi300x"]


def test_only_skills_in_the_language_are_found(book: Skillbook, shipped: Path) -> None:
    write(shipped, *(skill(str(language), candidate=kernel("x", language)) for language in ("triton", "cpp", "torch")))

    assert names(book.search("softmax", language="cpp")) == ["cpp"]


@pytest.mark.parametrize("field", ["name", "description", "body", "candidate"])
def test_a_search_covers_name_description_body_and_code(book: Skillbook, shipped: Path, field: str) -> None:
    value = kernel("# swizzle") if field == "candidate" else "swizzle"
    write(shipped, skill("a"), skill(**{"name": "b", field: value}), skill("c"))

    assert len(book.search("how to swizzle")) == 1


@pytest.mark.parametrize("query", ["num_stages", "NUM_STAGES", "numstages", "stages", "stage"])
def test_an_identifier_in_the_code_is_found_whole_and_by_part(book: Skillbook, shipped: Path, query: str) -> None:
    write(shipped, skill("a", candidate=kernel("run(num_stages=3)")), skill("b", candidate=kernel("x = 1")))

    assert names(book.search(query)) == ["a"]


def test_a_search_for_words_that_no_skill_has_finds_nothing(book: Skillbook, shipped: Path) -> None:
    write(shipped, skill())

    assert book.search("unheard-of") == []


@pytest.mark.parametrize("query", ['"', "softmax OR", "NEAR(softmax", "name:softmax*", "softmax " * 3000, "\0", "' --"])
def test_nothing_in_a_query_acts_as_an_operator(book: Skillbook, shipped: Path, query: str) -> None:
    write(shipped, skill())

    assert names(book.search(query)) == ["softmax"]


def test_a_query_of_many_words_is_answered(book: Skillbook, shipped: Path) -> None:
    write(shipped, skill(), skill("other", description="Else.", body=""))

    assert names(book.search(" ".join(map("".join, product("xyz", repeat=8))) + " rows")) == ["softmax"]


# Publication


def test_a_published_skill_is_found_unchanged(book: Skillbook) -> None:
    given = skill(evidence=(evidence(speedup=1.5),))

    published = book.publish(given)

    assert published == given.model_copy(update={"folder": book.folder / "softmax"})
    assert book.skills() == [published]
    assert sorted(path.name for path in book.folder.iterdir()) == ["softmax"]


def test_publishing_again_adds_only_new_evidence(book: Skillbook) -> None:
    first, second = evidence(speedup=1.5), evidence(speedup=1.6, created="2025-11-21T10:00:00+00:00")
    before = {p: p.read_bytes() for p in book.publish(skill(evidence=(first,))).folder.rglob("*.*")}

    published = book.publish(skill(evidence=(second,)))

    assert published.evidence == (first, second)
    assert {p: p.read_bytes() for p in before} == before
    assert book.publish(published) == published


def test_evidence_can_be_added_to_a_skill_that_had_none(book: Skillbook) -> None:
    book.publish(skill())

    assert book.standing(measured(book, skill(evidence=(evidence(),)))) == "screened"


def test_new_evidence_for_a_shipped_skill_is_written_to_the_home(book: Skillbook, shipped: Path) -> None:
    write(shipped, skill())

    measured(book, skill(evidence=(evidence(speedup=1.5),)))

    assert book.standing(book.find("softmax")) == "verified"
    assert not (shipped / "softmax" / "evidence").exists()
    assert not (book.folder / "softmax" / "SKILL.md").exists(), "a later kb may ship better words"


@pytest.mark.parametrize("where", ["home", "shipped"])
@pytest.mark.parametrize("change", [{"candidate": KERNEL.with_parameters({"BLOCK": 256})}, {"body": "Other words."}])
def test_the_content_under_a_name_never_changes(
    book: Skillbook, shipped: Path, where: str, change: dict[str, Any]
) -> None:
    write(book.folder if where == "home" else shipped, skill())

    with pytest.raises(SkillError, match=f"holds other content: {', '.join(change)}"):
        book.publish(skill(**change))

    assert [found.content_digest for found in book.skills()] == [skill().content_digest]


@pytest.mark.parametrize(
    "fields",
    [{"name": name} for name in ("", "..", "../softmax", "a/b", "/tmp/a", "Softmax", "a--b", "a" * 65)]
    + [{"description": " "}, {"description": "x" * 1025}, {"description": "a --- b"}, {"target": ""}],
    ids=str,
)
def test_a_skill_that_could_not_be_read_back_is_not_published(book: Skillbook, fields: dict[str, str]) -> None:
    with pytest.raises(SkillError):
        book.publish(skill().model_copy(update=fields))

    assert not book.home.exists()


def test_publishing_removes_the_staging_folder_of_a_dead_process(book: Skillbook) -> None:
    write(book.folder / ".stage-dead", skill("half"))
    shutil.rmtree(book.folder / ".stage-dead" / "half" / "scripts")

    book.publish(skill())

    assert [path.name for path in book.folder.iterdir()] == ["softmax"]


@pytest.mark.parametrize(
    ("scope", "standing"), [(None, "verified"), ({"mi300x", "amd"}, "hypothesis"), ({"h200", "nvidia"}, "verified")]
)
def test_what_was_measured_on_a_target_proves_nothing_for_another(
    book: Skillbook, shipped: Path, scope: set[str] | None, standing: str
) -> None:
    write(shipped, skill(target="any"))
    measured(book, skill(target="any", evidence=(evidence(speedup=1.5, target="h200"),)))
    asked = scope and frozenset(scope)

    [found] = book.select(Need(words="softmax", scope=asked)).offered
    [listed] = book.skills(scope=asked)

    assert found.standing == book.standing(listed) == standing
    assert bool(found.skill.evidence) is (standing == "verified")
