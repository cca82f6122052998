"""The use cases about facts, as methods of an open home."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kb.usecases.home import Home

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kb.facts.book import Conflict
    from kb.facts.resolution import StandingFact
    from kb.facts.worksheet import Entry
    from kb.types.fact import Fact, FactAnswer
    from kb.types.passages import Passage
    from kb.usecases.fact_reading import FactsAnswered
    from kb.usecases.probing import ProbeReport
    from synth.authors.spending import Budget


class AboutFacts(Home):
    """Look facts up, collect them from a reader, and measure them."""

    def facts(self, target: str, quantity: str | None = None, *conditions: str) -> list[Fact]:
        """The facts that hold for `target`, its own before inherited ones; never those of a sibling or descendant.

        Args:
            quantity: kb's or the vendor's name of a quantity (`LDS`; default: all quantities).
            conditions: Phrases that the condition of each fact must contain: `float16`, `dense`, `per die`.

        Raises:
            TargetError: the target is unknown.
            FactError: no such fact holds for it; the hint names known facts.
        """
        from kb.usecases.sheets import with_sheets

        book = self.factbook
        with with_sheets(self, target):
            found = book.holding(target) if quantity is None else book.find(target, quantity, conditions)
        return [standing.fact for standing in found]

    def known_facts(self, target: str) -> list[Fact]:
        """As `facts(target)`, but empty where there are none, or none that could be read."""
        from kb.usecases.fact_lookup import known_facts

        return known_facts(self, target)

    def standings(self, target: str, quantity: str | None = None) -> list[StandingFact]:
        """All statements about `target` or one of its quantities, with their standings. Errors as in `facts`."""
        from kb.usecases.sheets import with_sheets

        with with_sheets(self, target):
            return self.factbook.all_of(target, quantity)

    def conflicts(self, target: str | None = None) -> list[Conflict]:
        """List where documents contradict each other about `target` (default: any target), open conflicts first."""
        from kb.usecases.sheets import with_sheets

        with with_sheets(self, *([target] if target else ())):
            return self.factbook.conflicts(target)

    def worksheet(self, target: str) -> list[Entry]:
        """What a kernel's author needs to know of `target`: the facts that hold, and those to be confirmed.

        Raises:
            TargetError: the target is unknown.
        """
        from kb.usecases.fact_reading import worksheet_of

        return worksheet_of(self, target)

    def unread_amounts(self, target: str) -> list[Passage]:
        """Some passages of a target's own documents that state amounts, cut to these sentences and rows.

        Raises:
            TargetError: the target is unknown.
        """
        from kb.usecases.fact_reading import unread

        return unread(self, target)

    def fact_questions(self, target: str, *, topic: str | None = None, everything: bool = False) -> Iterator[Entry]:
        """The questions of the worksheet, open ones with passages that may answer. Errors as in `worksheet`.

        Args:
            topic: Limit to the questions of this topic; an unknown one is a FactError.
            everything: Passages also for the questions about which facts hold already.
        """
        from kb.usecases.fact_reading import questions

        return questions(self, target, topic=topic, everything=everything)

    def answer_facts(self, target: str, answers: Sequence[FactAnswer]) -> FactsAnswered:
        """Store a reader's answers whose quotes stand in the documents of `target` and hold their values.

        They hold after a person accepts them. A document that is ingested again keeps those that it still states.

        Raises:
            TargetError: the target is unknown.
            StoreError: the home cannot be written.
        """
        from kb.usecases.fact_reading import store_answers

        return store_answers(self, target, answers)

    def propose_facts(self, target: str, *, authors: Sequence[str] = (), budget: Budget) -> FactsAnswered:
        """Let authors answer the open questions of the worksheet from passages that they may read. As `answer_facts`.

        Args:
            authors: As for `kb optimize --author` (default: the settings', else what the environment offers).
            budget: The most that they may spend; questions that do not fit are listed as unread.

        Raises:
            SettingsError, SynthesisError: there is no author, or no budget for it; it gave no answer at all.
        """
        from kb.usecases.authors import desk_for, held_back
        from kb.usecases.fact_reading import ask_authors

        seen, desk = desk_for(self, authors, budget)
        held_back(seen, target)
        return ask_authors(seen, target, desk)

    def probe(
        self,
        target: str | None = None,
        *,
        dry_run: bool = False,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> ProbeReport:
        """Measure this machine, compare it with the vendor's facts, and store the results as measured facts.

        Args:
            target: Target of the facts (default: the device's name tells it). For a CPU target, the CPU is measured.
            dry_run: Store nothing.
            progress: Called with the number of steps done and their total.

        Raises:
            TargetError: `target` is unknown, or kb knows no target for the device.
            StoreError: the home cannot be written.
        """
        from kb.usecases.probing import probe

        return probe(self, target, dry_run=dry_run, progress=progress)
