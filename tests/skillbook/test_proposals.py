"""A proposal is used only after a curator accepted it; what is known already is not proposed again."""

from pathlib import Path
from typing import Any

import pytest

from kb.skillbook.library import Skillbook
from kb.types.skill import SkillKind, SkillRecord
from tests.skillbook.conftest import decided, write
from tests.skillbook.evidence import KERNEL, evidence, kernel, skill

WIN = evidence(speedup=1.5)


def test_a_proposal_waits_and_is_not_selected(book: Skillbook) -> None:
    proposed = book.propose(skill(evidence=(WIN,)), by="ann")

    assert book.proposals() == [proposed]
    assert book.find("softmax") == proposed
    assert (book.skills(), book.search("softmax")) == ([], [])


def test_an_accepted_proposal_is_a_skill_with_the_decision(book: Skillbook) -> None:
    book.propose(skill(evidence=(WIN,)), by="an agent")

    accepted = decided(book, "softmax", "accept", reason="It reads rows once.")

    assert (book.proposals(), book.skills()) == ([], [accepted])
    assert [(r.verb, r.by, r.reason) for r in accepted.records] == [
        ("propose", "an agent", ""),
        ("accept", "ann", "It reads rows once."),
    ]
    assert book.standing(accepted) == "hypothesis", "its win is only claimed"
    book.attest(WIN)
    assert book.standing(accepted) == "verified"


def test_a_shipped_skill_can_be_accepted(book: Skillbook, shipped: Path) -> None:
    write(shipped, skill())

    assert decided(book, "softmax", "accept").records
    assert [path.parent.name for path in book.folder.rglob("*") if path.is_file()] == ["records"]


def test_a_rejected_proposal_waits_no_more_and_is_kept(book: Skillbook) -> None:
    book.propose(skill(), by="ann")

    rejected = decided(book, "softmax", "reject")

    assert (book.proposals(), book.skills()) == ([], [rejected])
    assert book.standing(rejected) == "retired"
    assert book.standing(decided(book, "softmax", "accept")) == "hypothesis", "who accepts it takes that back"


def test_a_rejected_proposal_does_not_come_back_under_another_name(book: Skillbook) -> None:
    book.propose(skill(), by="ann")
    decided(book, "softmax", "reject")

    again = book.propose(skill("softmax-again", description="Now with feeling.", evidence=(WIN,)), by="ann")

    assert (again.name, book.proposals()) == ("softmax", [])
    assert again.evidence == (WIN,)


def test_records_that_come_with_a_proposal_are_left_out(book: Skillbook) -> None:
    record = SkillRecord(
        verb="accept", skill="softmax", content_digest=skill().content_digest, created="2025-11-30", by="eve"
    )

    assert [(r.verb, r.by) for r in book.propose(skill(records=(record,)), by="ann").records] == [("propose", "ann")]


SAME = {
    "the same kernel in other words": ({}, {"description": "Else.", "body": "# Else"}, True),
    "a kernel with a comment": ({}, {"candidate": kernel(f"{KERNEL.source}# a comment")}, False),
    "a kernel with another value": ({}, {"candidate": KERNEL.with_parameters({"BLOCK": 256})}, False),
    "the same kernel for another target": ({}, {"target": "hopper"}, False),
    "prose with the same text": ({"kind": SkillKind.TECHNIQUE}, {"kind": SkillKind.TECHNIQUE, "candidate": None}, True),
    "prose of another kind": ({"kind": SkillKind.TECHNIQUE}, {"kind": SkillKind.PITFALL}, False),
    "prose with another text": ({"kind": SkillKind.TECHNIQUE}, {"kind": SkillKind.TECHNIQUE, "body": "# Else"}, False),
}


@pytest.mark.parametrize(("one", "other", "same"), SAME.values(), ids=SAME)
def test_a_proposal_of_exactly_the_same_only_adds_its_evidence(
    book: Skillbook, one: dict[str, Any], other: dict[str, Any], same: bool
) -> None:
    book.propose(skill("a", language="triton", **one), by="ann")

    proposed = book.propose(skill("b", language="triton", evidence=(WIN,), **other), by="ann")

    assert (proposed.name, proposed.evidence) == ("a" if same else "b", (WIN,))
    assert [found.name for found in book.proposals()] == (["a"] if same else ["a", "b"])
