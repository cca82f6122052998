"""Chooses the cases for a candidate: drawn once, for it alone, or for one that they refused."""

import random
from contextlib import suppress
from functools import partial

from eval.devices.device import CaseSizes
from eval.judge.counterexamples import Counterexamples
from eval.oracle.cases import (
    Case,
    check_new_outputs,
    check_repeatable,
    check_state,
    draw_case,
    draw_cases,
    given_case,
    new_seed,
    updated_buffers,
    usable_distributions,
)
from eval.oracle.constants import integer_constants
from eval.oracle.reference import Reference
from eval.oracle.sizes import TOLERATED_EXCESS, count_elements, smaller_sizes
from eval.oracle.values import learn_structures, own_numbers
from kb.errors import TaskError
from kb.types.evidence import OWN_SIZES
from kb.types.kernels import Interface, Task

BUDGET_S = 2.0
"""Time for drawing cases of single distributions at one set of sizes, after those of given and of mixed values."""
OWN_NUMBERS = "tried with these arguments of the task alone"
OWN_INIT = "tried with these numbers of Model(...) alone"
OUTPUTS_ONLY = "only outputs were compared, not the buffers that the reference updates"
CHEAP = 1 << 20
"""The judge learns structure from, and draws new cases of, tensors with at most this many elements."""


class HeldOutCases:
    """Cases with other sizes and values than the task's, and with its own sizes if they are small enough.

    Args:
        limits: What the device can run.
        counterexamples: The cases that refused candidates before.
        timed: The case at the task's own sizes on which candidates are timed. If it is large, it is the only one there.

    Raises:
        TaskError: the reference is random or returns memory that it keeps, or the task is too large for the device and
            has no sizes to reduce.
    """

    def __init__(
        self,
        task: Task,
        reference: Reference,
        interface: Interface,
        limits: CaseSizes,
        counterexamples: Counterexamples,
        timed: Case | None = None,
    ) -> None:
        self._counterexamples = counterexamples
        runs_given = limits.given is None or count_elements(interface) <= limits.given
        sizes_of = partial(smaller_sizes, task, device=reference.device)
        # whoever forgets the last element fails at odd sizes: those of the small case, if the task's own are tried, too
        odd = sizes_of(elements=limits.small, odd=True) if runs_given else None
        even = sizes_of(elements=limits.large, odd=not runs_given)  # but not in blocks as its own often are
        small, large = (
            sizes and reference.again(new_seed(), sizes)
            for sizes in (odd or sizes_of(elements=limits.small, odd=None), even)
        )
        others = [r for r in (small, large) if r]
        repeatable = [r for r in others if not runs_given or _is_repeatable(r)]
        references = [*repeatable, *([reference] if runs_given else [])]
        if not references:
            hint = "assign its sizes to names at the top of the file, such as `ROWS = 4096`"
            raise TaskError(f"task {task.name} is too large to interpret and has no sizes to reduce", hint=hint)
        why = "the reference fails at smaller ones" if integer_constants(task) else "its file gives no name to a size"
        why = "at smaller ones the reference gives other outputs on the same inputs" if others else why
        updated = ", ".join(updated_buffers(references[0]))
        for check in (check_repeatable, check_state, check_new_outputs):
            check(references[0])
        cheap = [r for r in references if count_elements(r.interface()) <= CHEAP]
        own = timed if timed and timed.is_large and runs_given else None
        if own:
            references = [r for r in references if r is not reference] or references
        self._references, self._cheap_reference = references, (cheap or references)[-1]
        self._structures = learn_structures(self._cheap_reference)
        self._distributions = usable_distributions(references[0], self._structures)
        self._shared: list[Case] = []
        """The cases for all candidates."""
        for r in references:
            budget_s = 0.0 if r is small and len(references) > 1 else BUDGET_S
            self._shared += draw_cases(r, self._structures, self._distributions, budget_s=budget_s)
        if runs_given:
            self._shared.append(timed or given_case("sizes as given", reference))
        varied = self._with_other_numbers() if limits.numbers else []
        self._shared += varied
        numbers = ", ".join(own_numbers(self._cheap_reference, self._structures))
        given = "" if varied else ", ".join(str(n) for n in self._cheap_reference.numbers if isinstance(n, float))
        notes = {OWN_SIZES: "" if repeatable else why, OUTPUTS_ONLY: updated, OWN_NUMBERS: numbers, OWN_INIT: given}
        self.limit = "\n".join(f"{note}: {what}" for note, what in notes.items() if what)
        """What the cases do not show, in sentences, one a line."""
        for seed in counterexamples.latest():
            if not (seed.sizes or (runs_given and not own)):
                continue
            again = reference.again(seed.parameters, seed.sizes, seed.factor)
            if not seed.sizes or count_elements(again.interface()) <= TOLERATED_EXCESS * limits.large:
                case = draw_case(again, self._structures, seed.kinds, seed=seed.inputs)
                self._shared[:0] = [case] if case else []

    def for_candidate(self) -> list[Case]:
        """The cases for one candidate; one of them is new."""
        return [*self._shared, *self.mixed(self._cheap_reference)]

    def for_second_check(self) -> list[Case]:
        """The cases for a second check of the same candidate: all of them, and a new one at each set of sizes."""
        return [*self._shared, *self.mixed(*self._references)]

    def add_counterexample(self, case: Case) -> None:
        """Keep a case that refused a candidate, for this judge and for later ones."""
        if not any(case is known for known in self._shared):
            self._shared.insert(0, case)
        if case.seed:
            self._counterexamples.add(case.seed)

    def _with_other_numbers(self) -> list[Case]:
        """Cases with smaller numbers given to the model, or with larger ones where it works with no smaller ones."""
        usual, factor = self._cheap_reference, random.SystemRandom().uniform(0.25, 0.75)
        for by in (factor, 1 / factor):
            with suppress(TaskError):  # the model may not allow them
                other = usual.again(new_seed(), usual.sizes, by)
                if other.numbers != usual.numbers and _is_repeatable(other):
                    kinds = [["given"], self._distributions, *([d] for d in self._distributions if d == "tiny")]
                    drawn = (draw_case(other, self._structures, each, seed=new_seed()) for each in kinds)
                    if cases := [case for case in drawn if case]:
                        return cases
        return []

    def mixed(self, *references: Reference) -> list[Case]:
        """A new case of mixed values for each of some references of the task, unless it fails on them."""
        drawn = (draw_case(r, self._structures, self._distributions, seed=new_seed()) for r in references)
        return [case for case in drawn if case]


def _is_repeatable(reference: Reference) -> bool:
    """Whether chance changes no output: a recurrent layer forgets a random state only in a long sequence."""
    with suppress(TaskError):
        check_repeatable(reference)
        return True
    return False
