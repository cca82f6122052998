"""How facts stand among each other: which rule lets one go before another, and what contradicts what."""

from collections.abc import Sequence
from itertools import combinations

import pytest

from kb.facts.resolution import FactDecision, FactStanding, StandingFact, holding, resolve_facts, same_value
from kb.types.fact import Fact
from kb.types.records import Form, Trust
from tests.facts.documents import fact

LINEAGE = ("mi300x", "gfx942", "cdna3")
RULES = {
    "accepted": ({"key": "accepted"}, {}),
    "stated for a nearer target": ({}, {"target": "cdna3"}),
    "errata outrank what they correct, and all outranks drafts and archives": (
        {"section": "Errata"},
        {},
    ),
    "a fact table outranks what was read from other text": ({"form": Form.STATED}, {}),
    "the vendor outranks the community": ({}, {"trust": Trust.COMMUNITY}),
    "its condition is more specific": ({"condition": "per compute unit, each way"}, {}),
    "from a newer version of the document": (
        {"version": "3", "path": "v3/a.md"},
        {"version": "2", "path": "v2/a.md"},
    ),
}
"""What is said of the better fact, and of the worse."""
DECISIONS = {"accepted": FactDecision.ACCEPTED, "rejected": FactDecision.REJECTED}


def judge(*facts: Fact) -> list[StandingFact]:
    """Facts whose id is a decision have it."""
    return resolve_facts(facts, decisions=DECISIONS, lineage=LINEAGE)


def standing(*facts: Fact) -> list[FactStanding]:
    found = {s.fact.citation.id: s.standing for s in judge(*facts)}
    return [found[f.citation.id] for f in facts]


HOLDS, UNCONFIRMED, AMBIGUOUS, GIVES_WAY, CONFLICT, REJECTED = FactStanding


def line(value: str, document: str, label: str = "Cache line size", **more: str) -> Fact:
    """A value of a quantity that has several at once."""
    return fact(value, "B", **{"condition": "", "quantity": "cache_line_size"} | more, document=document, quote=label)


@pytest.mark.parametrize(("rule", "sides"), RULES.items(), ids=list(RULES))
def test_each_rule_lets_the_better_of_two_hold_and_says_so(rule: str, sides: tuple[dict, dict]) -> None:
    better, worse = fact("65", document="a", **sides[0]), fact("66", document="b", **sides[1])

    found = {s.fact.value: s for s in judge(worse, better)}

    assert (found["65"].standing, found["65"].against) == (FactStanding.HOLDS, ())
    assert (found["66"].standing, found["66"].why, found["66"].against) == (FactStanding.GIVES_WAY, rule, (better,))


ONLY_OF_VENDORS = (
    "errata outrank what they correct, and all outranks drafts and archives",
    "the vendor outranks the community",
)
"""These two rules never compete: others' errata correct nothing."""


@pytest.mark.parametrize(("first", "second"), [two for two in combinations(RULES, 2) if two != ONLY_OF_VENDORS])
def test_of_two_rules_the_earlier_one_decides(first: str, second: str) -> None:
    ours, theirs = RULES[first][0] | RULES[second][1], RULES[first][1] | RULES[second][0]
    better, worse = fact("65", document="a", **ours), fact("66", document="b", **theirs)

    found = {s.fact.value: s for s in judge(worse, better)}

    assert found["65"].standing is FactStanding.HOLDS
    assert (found["66"].standing, found["66"].why) == (FactStanding.GIVES_WAY, first)


def test_where_no_rule_decides_both_are_in_conflict_and_name_each_other() -> None:
    a, b = fact("65", document="a"), fact("66", document="b")

    assert [(s.fact, s.standing, s.against) for s in judge(a, b)] == [
        (a, FactStanding.CONFLICT, (b,)),
        (b, FactStanding.CONFLICT, (a,)),
    ]


@pytest.mark.parametrize("other", ["x/b.md", "y/a.md"])
def test_other_documents_are_no_versions_of_each_other(other: str) -> None:
    a, b = fact("65", version="3", path="x/a.md"), fact("66", version="2", path=other, document="b")

    assert standing(a, b) == [CONFLICT, CONFLICT]


@pytest.mark.parametrize(("older", "newer"), [("9", "10"), ("v2.9", "v2.10"), ("9.0", "13.0")])
def test_version_10_is_newer_than_version_9(older: str, newer: str) -> None:
    a, b = fact("65", version=newer, path="v3/a.md"), fact("66", version=older, path="v2/a.md", document="b")

    assert standing(a, b) == [HOLDS, GIVES_WAY]


CASES: dict[str, tuple[list[Fact], list[FactStanding]]] = {
    "a table holds by itself": ([fact("65")], [HOLDS]),
    "a table of a draft does not": ([fact("65", path="draft-v0.7/a.md")], [UNCONFIRMED]),
    "a table in force confirms it": (
        [fact("65", path="draft-v0.7/a.md"), fact("65", document="b")], [HOLDS, HOLDS],
    ),
    "a table of a draft confirms none": (
        [fact("65", path="archive/a.md"), fact("65", document="b", form=Form.PROPOSED)], [UNCONFIRMED, UNCONFIRMED],
    ),
    "a fact table of a draft gives way": (
        [fact("65", path="old/a.md", form=Form.STATED), fact("66", document="b")], [GIVES_WAY, HOLDS],
    ),
    "a fact table holds by itself": ([fact("65", form=Form.STATED)], [HOLDS]),
    "a rejected one never holds": ([fact("65", key="rejected")], [REJECTED]),
    "a rejected one contradicts none": ([fact("65", key="rejected"), fact("66", document="b")], [REJECTED, HOLDS]),
    "a rejected one confirms none": (
        [fact("65", key="rejected"), fact("65", document="b", form=Form.PROPOSED)], [REJECTED, UNCONFIRMED],
    ),
    "a rejected measurement": ([fact("65", key="rejected", trust=Trust.MEASURED)], [REJECTED]),
    "an answer alone": ([fact("65", form=Form.PROPOSED)], [UNCONFIRMED]),
    "what a model pointed at, alone": ([fact("65", form=Form.PROPOSED)], [UNCONFIRMED]),
    "an accepted answer": ([fact("65", form=Form.PROPOSED, key="accepted")], [HOLDS]),
    "answers of one document": (
        [fact("65", form=Form.PROPOSED), fact("65", form=Form.PROPOSED)], [UNCONFIRMED, UNCONFIRMED],
    ),
    "answers of two documents": (
        [fact("65", form=Form.PROPOSED), fact("65", form=Form.PROPOSED, document="b")], [UNCONFIRMED, UNCONFIRMED],
    ),
    "an answer and a table of one document": ([fact("65", form=Form.PROPOSED), fact("65")], [HOLDS, HOLDS]),
    "an unconfirmed answer contradicts none": (
        [fact("65", form=Form.PROPOSED), fact("66", document="b")], [UNCONFIRMED, HOLDS],
    ),
    "an answer that a table confirms gives way with it": (
        [fact("65", form=Form.PROPOSED), fact("65", document="b"), fact("66", document="c", form=Form.STATED)],
        [GIVES_WAY, GIVES_WAY, HOLDS],
    ),
    "the same words in a copy of the document": (
        [fact("65", form=Form.PROPOSED, quote="65"), fact("65", form=Form.PROPOSED, document="b", quote="65")],
        [UNCONFIRMED, UNCONFIRMED],
    ),
    "one table, one condition, two values": (
        [fact("65", section="s"), fact("66", section="s")], [AMBIGUOUS, AMBIGUOUS],
    ),
    "one table, one value twice": ([fact("65", section="s"), fact("65", section="s")], [HOLDS, HOLDS]),
    "one table, two conditions": (
        [fact("65", section="s"), fact("66", "KiB", "per die", section="s")], [HOLDS, HOLDS],
    ),
    "a fact table is never ambiguous": (
        [fact("65", section="s", form=Form.STATED), fact("66", section="s", form=Form.STATED)], [CONFLICT, CONFLICT],
    ),
    "an ambiguous table contradicts none": (
        [fact("65", section="s"), fact("66", section="s"), fact("67", document="b")], [AMBIGUOUS, AMBIGUOUS, HOLDS],
    ),
    "another quantity": ([fact("65"), fact("66", document="b", quantity="l1_size")], [HOLDS, HOLDS]),
    "another share": ([fact("65"), fact("66", document="b", condition="per die")], [HOLDS, HOLDS]),
    "a share that is the usual one, said and unsaid": (
        [fact("65"), fact("66", document="b", condition="")], [CONFLICT, CONFLICT],
    ),
    "several values of one document hold at once": ([line("65", "a"), line("66", "a")], [HOLDS, HOLDS]),
    "two documents that say it of one thing": ([line("65", "a"), line("66", "b")], [CONFLICT, CONFLICT]),
    "an erratum says it of the same thing": (
        [line("65", "a"), line("66", "b", section="Errata")], [GIVES_WAY, HOLDS],
    ),
    "two documents that say it of two things": (
        [line("65", "a", "L1 line size"), line("66", "b", "L2 line size")], [HOLDS, HOLDS],
    ),
    "two documents that say it below the names of two things": (
        [line("65", "a", section="L1 cache"), line("66", "b", section="L2 cache")], [HOLDS, HOLDS],
    ),
    "two documents that say it under two conditions": (
        [line("65", "a", condition="L1"), line("66", "b", condition="L2")], [HOLDS, HOLDS],
    ),
    "a document lists the value of the other": (
        [line("65", "a"), line("66", "a"), line("66", "b")], [HOLDS, HOLDS, HOLDS],
    ),
    "a document lists it of another thing": (
        [line("65", "a"), line("66", "a", "L2 line size"), line("66", "b")], [CONFLICT, HOLDS, CONFLICT],
    ),
    "a person accepted both": (
        [line("65", "a", key="accepted"), line("66", "b", key="accepted")], [HOLDS, HOLDS],
    ),
    "of what an alignment is one, no words tell": (
        [line("64", "a", "aligned", quantity="alignment"), line("32", "b", "aligned", quantity="alignment")],
        [HOLDS, HOLDS],
    ),
    "a measured one contradicts none": ([fact("65", trust=Trust.MEASURED), fact("66", document="b")], [HOLDS, HOLDS]),
    "a measured one confirms none": (
        [fact("65", trust=Trust.MEASURED), fact("65", form=Form.PROPOSED, document="b")], [HOLDS, UNCONFIRMED],
    ),
    "GB and GiB": ([fact("65", "GB"), fact("65", "GiB", document="b")], [HOLDS, HOLDS]),
    "one amount in two units": ([fact("64", "KiB"), fact("65536", "B", document="b")], [HOLDS, HOLDS]),
    "rounded": ([fact("5.3", "TB/s"), fact("5.325", "TB/s", document="b")], [HOLDS, HOLDS]),
    "not rounded but another": ([fact("5.3", "TB/s"), fact("5.4", "TB/s", document="b")], [CONFLICT, CONFLICT]),
    "one digit rounds no more than its share": (
        [fact("8", "TB/s"), fact("7.7", "TB/s", document="b")], [CONFLICT, CONFLICT],
    ),
    "vague, and one special says so": (
        [fact("65"), fact("65", "KiB", "per compute unit, each way", document="b"),
         fact("66", "KiB", "per compute unit, in all", document="c")], [HOLDS, HOLDS, HOLDS],
    ),
    "vague, and the specials say otherwise": (
        [fact("64"), fact("65", "KiB", "per compute unit, each way", document="b")], [GIVES_WAY, HOLDS],
    ),
    "two specials": (
        [fact("65", "KiB", "per compute unit, each way"), fact("66", "KiB", "per compute unit, in all", document="b")],
        [HOLDS, HOLDS],
    ),
    "shapes": (
        [fact("128x129", "shape", "", quantity="matrix_unit_shape"),
         fact("128X129", "shape", "", quantity="matrix_unit_shape", document="b"),
         fact("64x64", "shape", "", quantity="matrix_unit_shape", document="c")], [CONFLICT, CONFLICT, CONFLICT],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("facts", "stand"), CASES.values(), ids=list(CASES))
def test_facts_stand_as_the_rules_say(facts: Sequence[Fact], stand: list[FactStanding]) -> None:
    assert standing(*facts) == stand


@pytest.mark.parametrize("better", [{"key": "accepted"}, {"form": Form.STATED}, {"trust": Trust.VENDOR}])
def test_what_one_fact_settles_is_settled_for_those_that_say_the_same(better: dict) -> None:
    others = {"trust": Trust.COMMUNITY}

    found = standing(
        fact("65", **(others | better)), fact("65", document="b", **others), fact("66", document="c", **others)
    )

    assert found == [HOLDS, HOLDS, GIVES_WAY]


@pytest.mark.parametrize(
    ("key", "stand"), [("accepted", [HOLDS, GIVES_WAY]), ("rejected", [REJECTED, HOLDS])]
)  # fmt: skip
def test_a_decision_settles_what_is_ambiguous(key: str, stand: list[FactStanding]) -> None:
    assert standing(fact("65", section="s", key=key), fact("66", section="s")) == stand


def test_989_is_a_rounding_of_989_and_a_half() -> None:
    assert same_value(fact("989", "TFLOPS"), fact("989.5", "TFLOPS"))


def test_equal_facts_of_other_documents_are_named() -> None:
    a, b, c = fact("65", document="a"), fact("65", document="a"), fact("65", document="b")

    found = {s.fact.citation.id: s.confirmed_by for s in judge(a, b, c)}

    assert found == {a.citation.id: (c,), b.citation.id: (c,), c.citation.id: (a, b)}


def test_each_fact_that_holds_is_said_once_in_its_best_form_and_measurements_besides() -> None:
    table = fact("65", document="a")
    stated = fact("65", document="b", form=Form.STATED)
    special = fact("65", "KiB", "per compute unit, each way", document="c")
    measured = fact("60", document="d", trust=Trust.MEASURED)
    inherited = fact("65", document="e", target="cdna3", form=Form.STATED)

    found = holding(judge(inherited, measured, table, special, stated), lineage=LINEAGE)

    assert {s.fact.citation.id for s in found} == {f.citation.id for f in (stated, special, measured)}


@pytest.mark.parametrize("stand", [UNCONFIRMED, AMBIGUOUS, GIVES_WAY, CONFLICT, REJECTED])
def test_what_does_not_hold_is_left_out(stand: FactStanding) -> None:
    assert holding([StandingFact(fact=fact("65"), standing=stand)], lineage=LINEAGE) == []
