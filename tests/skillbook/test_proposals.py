"""A proposal is used only after a curator accepted it; what is known already is not proposed again."""

import shutil
from pathlib import Path

import pytest

from kb.errors import SkillError
from kb.skillbook.duplicates import key_of
from kb.skillbook.library import Skillbook
from kb.skillbook.standing import MOST_ACTIVE
from kb.types.kernels import Candidate
from kb.types.skill import Preconditions, Skill, SkillKind
from kb.types.skill_record import SkillRecord
from tests.skillbook.conftest import measured, write
from tests.skillbook.evidence import KERNEL, evidence, kernel, refused, skill

WIN = evidence(speedup=1.5)


def rejected(one: Skill) -> SkillRecord:
    return SkillRecord(
        verb="reject", skill=one.name, content_digest=one.content_digest, created="2025-11-30", by="a curator"
    )


def test_a_proposal_waits_and_is_not_selected(book: Skillbook) -> None:
    proposed = book.propose(skill(evidence=(WIN,)))

    assert book.proposals() == [proposed]
    assert book.find("softmax") == proposed
    assert (book.skills(), book.search("softmax")) == ([], [])
    with pytest.raises(SkillError, match="unknown skill 'softmax'"):
        book.get("softmax")


def test_an_accepted_proposal_is_a_skill_with_the_decision(book: Skillbook) -> None:
    book.propose(skill(evidence=(WIN,)))

    accepted = book.accept("softmax", "ann", "It reads rows once.")

    assert (book.proposals(), book.skills()) == ([], [accepted])
    assert [(r.verb, r.by, r.reason) for r in accepted.records] == [("accept", "ann", "It reads rows once.")]
    assert book.standing(accepted) == "hypothesis", "its win is only claimed"
    book.attest(WIN)
    assert book.standing(accepted) == "active"


def test_a_shipped_skill_can_be_accepted(book: Skillbook, shipped: Path) -> None:
    write(shipped, skill())

    assert book.accept("softmax", "ann", "").records
    assert [path.parent.name for path in book.folder.rglob("*") if path.is_file()] == ["records"]


def test_a_rejected_proposal_waits_no_more_and_is_kept(book: Skillbook) -> None:
    proposed = book.propose(skill())

    book.record(proposed, rejected(proposed))

    assert book.proposals() == []
    assert book.standing(book.find("softmax")) == "retired"


def test_a_rejected_proposal_does_not_come_back_under_another_name(book: Skillbook) -> None:
    proposed = book.propose(skill())
    book.record(proposed, rejected(proposed))

    again = book.propose(skill("softmax-again", description="Now with feeling.", evidence=(WIN,)))

    assert (again.name, book.proposals()) == ("softmax", [])
    assert again.evidence == (WIN,)


def test_records_that_come_with_a_proposal_are_left_out(book: Skillbook) -> None:
    record = rejected(skill()).model_copy(update={"verb": "accept"})

    assert book.propose(skill(records=(record,))).records == ()


def test_what_was_accepted_elsewhere_hides_the_proposal_that_is_left_and_keeps_its_evidence(
    book: Skillbook, tmp_path: Path
) -> None:
    book.propose(skill(evidence=(WIN,)))
    write(tmp_path / "theirs", skill(evidence=(evidence(),)))
    shutil.copytree(tmp_path / "theirs", book.folder, dirs_exist_ok=True)

    assert book.proposals() == []
    assert {e.id for e in book.get("softmax").evidence} == {WIN.id, evidence().id}


def test_a_proposal_with_the_name_of_another_skill_is_shown_and_cannot_replace_it(book: Skillbook) -> None:
    write(book.folder, skill())
    write(book.folder / ".proposals", skill(body="Other words."))

    [waits] = book.proposals()
    assert waits.body == "Other words."
    with pytest.raises(SkillError, match="other content"):
        book.accept("softmax", "ann", "")
    assert book.get("softmax").body == skill().body

    book.record(waits, rejected(waits))

    assert book.proposals() == []
    assert book.get("softmax").records == ()


PYTHON = "import triton\n\n\ndef run(x):\n    return x + 1\n"
C = "int f(int x) {\n  return x + 1;\n}\n"
SAME = {
    "a comment": (PYTHON, PYTHON.replace("return", "# adds one\n    return"), "triton"),
    "another layout": (PYTHON, PYTHON.replace("x + 1", "(x\n            + 1)"), "triton"),
    "a C++ comment": (C, C.replace("return", "/* adds\n one */ return"), "cpp"),
    "another C++ layout": (C, C.replace("\n", "\n\n"), "cpp"),
    "Python that cannot be parsed": ("def (", "def (", "triton"),
}
OTHER = {
    "another value": (PYTHON, PYTHON.replace("1", "2"), "triton"),
    "another C++ value": (C, C.replace("1", "2"), "cpp"),
    "Python that cannot be parsed": ("def (", "def ((", "triton"),
}


def _pair(one: str, other: str, language: str) -> tuple[Skill, Skill]:
    first, second = (Candidate(language=language, source=source) for source in (one, other))
    return skill("a", candidate=first), skill("b", candidate=second, description="Else.", body="# Else")


@pytest.mark.parametrize("case", SAME.values(), ids=SAME)
def test_kernels_that_differ_in_words_and_layout_are_the_same(book: Skillbook, case: tuple[str, str, str]) -> None:
    first, second = _pair(*case)
    book.propose(first)

    assert book.propose(second.model_copy(update={"evidence": (WIN,)})).name == "a"
    assert [(one.name, one.evidence) for one in book.proposals()] == [("a", (WIN,))]


@pytest.mark.parametrize("case", OTHER.values(), ids=OTHER)
def test_other_code_is_another_skill(case: tuple[str, str, str]) -> None:
    first, second = _pair(*case)

    assert key_of(first) != key_of(second)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({}, {"shapes": "cols <= 1024"}, True),
        ({"shapes": "cols <= 1024"}, {"shapes": "cols <= 1024"}, True),
        ({"shapes": "cols <= 1024"}, {"shapes": "cols > 1024"}, False),
        ({"ops": ("softmax",)}, {"ops": ("softmax", "max")}, True),
        ({"ops": ("softmax",)}, {"ops": ("layernorm",)}, False),
        ({"dtypes": ("float16",)}, {"dtypes": ("float32",)}, False),
    ],
)
def test_the_same_kernel_for_other_tasks_is_another_skill(book: Skillbook, one: dict, other: dict, same: bool) -> None:
    book.propose(skill("a", preconditions=Preconditions(**one)))

    book.propose(skill("b", preconditions=Preconditions(**other)))

    assert [found.name for found in book.proposals()] == (["a"] if same else ["a", "b"])


def test_techniques_without_a_kernel_are_the_same_if_their_whole_text_is(book: Skillbook) -> None:
    for name, body in (("a", "# Unroll\n\nBy four."), ("b", "# Unroll\n\nBy eight."), ("c", "# Unroll\n\nBy four.")):
        book.propose(skill(name, kind=SkillKind.TECHNIQUE, candidate=None, suffix="", body=body, evidence=()))

    assert [found.name for found in book.proposals()] == ["a", "b"]


@pytest.mark.parametrize("change", [{"target": "hopper"}, {"kind": SkillKind.TECHNIQUE}], ids=str)
def test_the_same_code_for_another_target_or_of_another_kind_is_another_skill(change: dict[str, str]) -> None:
    assert key_of(skill()) != key_of(skill(**change))


def rival(
    number: int,
    speedup: float,
    op: str = "softmax",
    target: str = "mi300x",
    triton: str = "3.0",
    language: str = "triton",
) -> Skill:
    own = kernel(f"kernel = {number}", language)
    found = evidence(
        own,
        speedup=speedup,
        target=target,
        task_digest=op,
        environment={"machine": "M", "triton": triton},
    )
    needs = Preconditions(ops=(op,))
    return skill(f"s{number}", candidate=own, preconditions=needs, target=target, evidence=(found,))


@pytest.fixture
def full(book: Skillbook) -> Skillbook:
    """A library with as many active skills for one operation on one target as there may be."""
    for number in range(MOST_ACTIVE):
        measured(book, rival(number, 1.5))
        book.accept(f"s{number}", "ann", "")
    return book


NEWCOMERS = {
    "as fast": (rival(9, 1.505), False),
    "slower": (rival(9, 1.2), False),
    "unproven": (rival(9, 1.5).model_copy(update={"evidence": ()}), False),
    "faster": (rival(9, 2.0), True),
    "measured where the others are not": (rival(9, 2.0, triton="4.0"), False),
    "faster, in another language": (rival(9, 2.0, language="cpp"), False),
    "for another operation": (rival(9, 1.2, op="gelu"), True),
    "for another target": (rival(9, 1.2, target="hopper"), True),
}


@pytest.mark.parametrize(("newcomer", "has_room"), NEWCOMERS.values(), ids=NEWCOMERS)
def test_a_newcomer_among_enough_active_skills_must_beat_one_of_them(
    full: Skillbook, newcomer: Skill, has_room: bool
) -> None:
    measured(full, newcomer)

    if has_room:
        assert full.standing(full.accept("s9", "ann", "")) == "active"
        return
    with pytest.raises(SkillError, match="3 skills are active") as error:
        full.accept("s9", "ann", "")
    assert error.value.hint == "retire one of them first: s0, s1, s2"
    assert full.get("s9").records == ()


def test_an_active_skill_can_be_accepted_again(full: Skillbook) -> None:
    assert len(full.accept("s0", "ben", "").records) == 2


def test_a_refusal_gives_a_newcomer_no_room(full: Skillbook) -> None:
    measured(full, rival(9, 1.2).model_copy(update={"evidence": (refused(KERNEL),)}))

    with pytest.raises(SkillError, match="3 skills are active"):
        full.accept("s9", "ann", "")
