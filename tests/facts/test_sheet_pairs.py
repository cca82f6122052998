"""If two targets state different values of a quantity, each gives its own: checked for all pairs of sheets."""

from collections.abc import Iterator
from contextlib import suppress
from itertools import combinations

import pytest

from ingest.scan import SHEETS
from kb.errors import FactError
from kb.facts.quantities import quantities
from kb.facts.resolution import same_value
from kb.facts.select import conditions
from kb.settings import Settings
from kb.types.fact import Fact
from kb.usecases.knowledge_base import KnowledgeBase
from kb.usecases.sheets import ensure_sheets
from tests.conftest import HashEmbedder

NAMES = sorted(folder.name for folder in SHEETS.iterdir() if any(folder.glob("*.md")))
PAIRS = list(combinations(NAMES, 2))


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    """A home with every sheet that ships."""
    home = tmp_path_factory.mktemp("sheets")
    with KnowledgeBase(Settings.load(home), embedder=HashEmbedder()) as opened:
        for name in NAMES:
            ensure_sheets(opened, name)
        yield opened


Key = tuple[str, frozenset[str]]
"""A quantity and the conditions under which it has a value."""
Stated = dict[str, dict[Key, list[Fact]]]
Told = dict[str, dict[str, list[Fact]]]


@pytest.fixture(scope="module")
def stated(kb: KnowledgeBase) -> Stated:
    """Facts that each target gives when asked for all its facts."""
    found: dict[str, dict[Key, list[Fact]]] = {name: {} for name in NAMES}
    for name, facts in found.items():
        for fact in kb.facts(name):
            facts.setdefault((fact.quantity, conditions(fact)), []).append(fact)
    return found


@pytest.fixture(scope="module")
def told(kb: KnowledgeBase, stated: Stated) -> Told:
    """Facts that each target gives when asked for one quantity at a time."""
    return {
        name: {quantity: kb.facts(name, quantity) for quantity in {quantity for quantity, _ in stated[name]}}
        for name in NAMES
    }


@pytest.mark.slow
def test_there_are_many_pairs_and_many_values_that_differ(stated: Stated) -> None:
    assert len(PAIRS) >= 55
    differing = [
        key
        for a, b in PAIRS[::5]
        for key in stated[a].keys() & stated[b].keys()
        if {f.value for f in stated[a][key]} != {f.value for f in stated[b][key]}
    ]
    assert len(differing) > 40


@pytest.mark.slow
def test_each_of_two_targets_gives_its_own_value(stated: Stated, told: Told) -> None:
    for a, b in PAIRS:
        for quantity, phrases in stated[a].keys() & stated[b].keys():
            for own, other in ((a, b), (b, a)):
                mine, theirs = (stated[name][quantity, phrases] for name in (own, other))
                different = [f for f in theirs if not any(same_value(f, m) for m in mine)]
                given = [f for f in told[own][quantity] if conditions(f) == phrases]
                assert not [f for f in given if f in different]
                assert [f for f in given if f in mine] == mine


@pytest.mark.slow
def test_no_fact_of_one_target_is_given_for_another(kb: KnowledgeBase, told: Told) -> None:
    for a, b in PAIRS:
        for asked, other in ((a, b), (b, a)):
            lineage = kb.targets.lineage(asked)
            for fact in (f for facts in told[asked].values() for f in facts):
                assert fact.target in lineage
                assert other in lineage or (fact.target != other and fact.citation.path.split("/")[-2] != other)


@pytest.mark.slow
def test_a_quantity_that_only_other_targets_state_is_refused_by_name(kb: KnowledgeBase, stated: Stated) -> None:
    for name in NAMES:
        own, everywhere = quantities_of(stated[name]), {q for facts in stated.values() for q in quantities_of(facts)}

        for quantity in sorted(everywhere - own)[NAMES.index(name) % 6 :: 6]:
            if {q.name for q in quantities().find(quantity)} <= {quantity}:
                with pytest.raises(FactError, match=f"{quantity!r} of {name}"):
                    kb.facts(name, quantity)


def quantities_of(facts: dict[Key, list[Fact]]) -> set[str]:
    return {quantity for quantity, _ in facts}


@pytest.mark.slow
def test_asking_for_one_quantity_gives_no_fact_of_another(kb: KnowledgeBase, stated: Stated) -> None:
    asked = {q for facts in stated.values() for q in quantities_of(facts)}
    called = {
        name.lower().replace(" ", "_").removesuffix("s") for q in quantities().by_name.values() for name in q.names
    }
    shared = {quantity for quantity in asked if quantity.removesuffix("s") in called}
    assert len(shared) > 5

    for quantity in shared:
        for name in NAMES:
            with suppress(FactError):
                assert {s.fact.quantity for s in kb.factbook.find(name, quantity)} == {quantity}


@pytest.mark.slow
def test_no_two_facts_of_a_sheet_are_in_open_conflict(kb: KnowledgeBase) -> None:
    for name in NAMES:
        assert [c for c in kb.factbook.conflicts(name) if c.state == "open"] == []
