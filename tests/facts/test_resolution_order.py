"""Of any facts: each stands in one way, whichever order they come in, and nobody's word is lost."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from kb.facts.resolution import FactDecision, FactStanding, StandingFact, holding, resolve_facts, same_value
from kb.facts.select import comparable
from kb.types.fact import Fact
from kb.types.records import Form, Trust
from tests.facts.documents import PROPERTY, fact

LINEAGE = ("mi300x", "gfx942", "cdna3")
VALUES = st.sampled_from([("64", "KiB"), ("65536", "B"), ("64", "KB"), ("65", "KiB"), ("72", "KiB")])
QUANTITIES = st.sampled_from(["lds_size", "lds_size", "lds_size", "l1_size", "cache_line_size"])
FACTS = st.lists(
    st.builds(
        lambda value, **fields: fact(*value, **fields),
        VALUES,
        condition=st.sampled_from(["", "per compute unit", "per compute unit, each way", "per die"]),
        quantity=QUANTITIES,
        target=st.sampled_from(LINEAGE),
        form=st.sampled_from(Form),
        trust=st.sampled_from([Trust.VENDOR, Trust.VENDOR, Trust.COMMUNITY, Trust.MEASURED]),
        document=st.sampled_from("abc"),
        path=st.sampled_from(["x/a.md", "y/a.md", "x/b.md"]),
        version=st.sampled_from(["", "1", "2"]),
        section=st.sampled_from("st"),
    ),
    max_size=7,
)
DECISIONS = st.lists(st.sampled_from([None, None, *FactDecision]), min_size=7, max_size=7)


def judge(facts: Sequence[Fact], decided: dict[str, FactDecision] | None = None) -> list[StandingFact]:
    return resolve_facts(facts, decisions=decided or {}, lineage=LINEAGE)


def by_id(facts: Sequence[Fact], decisions: Sequence[FactDecision | None]) -> dict[str, FactDecision]:
    return {f.citation.id: decision for f, decision in zip(facts, decisions, strict=False) if decision}


def summary(standings: Sequence[StandingFact]) -> dict[str, object]:
    return {
        s.fact.citation.id: (s.standing, {f.citation.id for f in s.against}, {f.citation.id for f in s.confirmed_by})
        for s in standings
    }


@PROPERTY
@given(FACTS, DECISIONS)
def test_every_fact_has_exactly_one_standing(facts: list[Fact], decisions: list[FactDecision | None]) -> None:
    found = judge(facts, by_id(facts, decisions))

    assert sorted(s.fact.citation.id for s in found) == sorted(f.citation.id for f in facts)


@PROPERTY
@given(st.data(), FACTS, DECISIONS)
def test_the_order_of_facts_does_not_matter(
    data: st.DataObject, facts: list[Fact], decisions: list[FactDecision | None]
) -> None:
    decided = by_id(facts, decisions)

    assert summary(judge(data.draw(st.permutations(facts)), decided)) == summary(judge(facts, decided))


def test_the_order_of_rounded_facts_of_one_table_does_not_matter() -> None:
    near, above, below = (fact(value, "TB/s", section="s", document="a") for value in ("9.5", "9.54", "9.46"))

    assert summary(judge([near, above, below])) == summary(judge([above, near, below]))


@PROPERTY
@given(FACTS, DECISIONS)
def test_a_fact_that_gives_way_or_conflicts_names_the_other_facts(
    facts: list[Fact], decisions: list[FactDecision | None]
) -> None:
    for standing in judge(facts, by_id(facts, decisions)):
        if standing.standing in (FactStanding.GIVES_WAY, FactStanding.CONFLICT):
            assert standing.against
        assert bool(standing.why) or standing.standing is not FactStanding.GIVES_WAY
        for other in standing.against:
            assert comparable(standing.fact, other)
            assert not same_value(standing.fact, other)


@PROPERTY
@given(FACTS, DECISIONS)
def test_a_decision_of_a_person_is_obeyed(facts: list[Fact], decisions: list[FactDecision | None]) -> None:
    decided = by_id(facts, decisions)
    measured = {f.citation.id for f in facts if f.trust is Trust.MEASURED}

    for standing in judge(facts, decided):
        decision = decided.get(standing.fact.citation.id)
        if decision is FactDecision.REJECTED:
            assert standing.standing is FactStanding.REJECTED
        else:
            assert standing.standing is not FactStanding.REJECTED
        if decision is FactDecision.ACCEPTED and standing.fact.citation.id not in measured:
            assert standing.standing is not FactStanding.UNCONFIRMED


@PROPERTY
@given(FACTS, st.integers(0, 6))
def test_facts_of_another_quantity_change_nothing(facts: list[Fact], cut: int) -> None:
    others = [f.model_copy(update={"quantity": "l3_size"}) for f in facts[:cut]]
    rest = facts[cut:]

    alone, together = summary(judge(rest)), summary(judge([*rest, *others]))

    assert {key: together[key] for key in alone} == alone


@PROPERTY
@given(FACTS)
def test_no_two_facts_that_hold_contradict_each_other(facts: list[Fact]) -> None:
    held = [s.fact for s in holding(judge(facts), lineage=LINEAGE)]

    stated = [f for f in held if f.trust is not Trust.MEASURED and f.quantity != "cache_line_size"]
    for a in stated:
        for b in stated:
            if a.target == b.target and a.conditions == b.conditions and a.quantity == b.quantity:
                assert same_value(a, b), (a, b)


@PROPERTY
@given(st.integers(1, 9999), st.integers(1, 9999), st.sampled_from(["KiB", "GB", "TB/s", "MHz", "1"]))
def test_being_the_same_value_is_mutual_and_holds_of_each_with_itself(a: int, b: int, unit: str) -> None:
    one, other = fact(f"{a / 10}", unit), fact(str(b), unit)

    assert same_value(one, one)
    assert same_value(one, other) == same_value(other, one)
