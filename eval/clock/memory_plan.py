"""How much of a GPU's memory it takes to judge a task, computed from its interface before anything is placed there."""

from typing import NamedTuple

from eval.roofline import tensor_bytes
from kb.errors import TaskSizeError
from kb.types.kernels import Interface
from kb.types.timing import WIN_SESSIONS

MOST, KEPT, ROOMY = 0.9, 0.75, 0.6
"""Share of the memory that tensors may take, because drivers and libraries of several processes need the rest; that
they take beside sets of baselines which wait; and that they take where what could be elsewhere stays."""
SETS = 0.25
"""Share that may go to baselines that start together, beside those of one candidate's session."""
MOST_SLOTS = 16
"""As in DeviceMemory."""
SLOTS, SLOTS_BESIDE = 1 / 16, 1 / 8
"""Most that the inputs and outputs of a timed worker may take of the GPU's memory, and of what a session leaves free.
The more calls share a question, the less of it can one of them use to work unseen."""
RACING = 3
"""Baselines that are about as fast as the fastest: in 62 of 68 verdicts of judge-h200.json they are no more."""
SLOTS_APART = 3
"""So many times as much as one worker's take the candidate's inputs and outputs, and the judge's copies for a batch."""
BESIDE = 1 / 32
"""Share that a worker may take beside its tensors, at least."""


class MemoryPlan(NamedTuple):
    """The bytes that a task's tensors take, and what is done in which memory."""

    total: int
    """The GPU's memory."""
    inputs: int
    state: int
    outputs: int
    working: int
    """Most that one call of the reference has at once besides inputs and state."""

    @classmethod
    def of(cls, interface: Interface, total: int) -> "MemoryPlan":
        inputs, state, outputs = (
            sum(map(tensor_bytes, tensors)) for tensors in (interface.inputs, interface.state, interface.outputs)
        )
        return cls(total, inputs, state, outputs, max(interface.working_bytes, outputs))

    @property
    def worker(self) -> int:
        """For a worker of a baseline, or of a candidate that needs as much: the state comes where inputs are later."""
        return max(self.inputs, self.state) + self.state + self.working

    @property
    def expected(self) -> int:
        """For a case: inputs and state in float64, also changed; what a call in float64 holds; and outputs three times:
        those of the reference's own precision, the known ones in float32, and the changes of these."""
        return 3 * (self.inputs + self.state + self.outputs) + 2 * self.working

    @property
    def timed(self) -> int:
        """For a session, without what is expected of a case: two workers, inputs of two calls, outputs of two."""
        return 2 * self.worker + 2 * self.inputs + self.state + 2 * self.outputs

    @property
    def keeps_expected(self) -> bool:
        """Whether expected outputs and the errors allowed can stay on the GPU beside a session."""
        return self.timed + 2 * self.outputs <= ROOMY * self.total

    @property
    def starts_beside_cases(self) -> bool:
        """Whether baselines may start while what is expected of cases is computed, in part from rounded factors."""
        return self.expected + 2 * (self.inputs + self.state) + self.worker <= MOST * self.total

    def starts_together(self, workers: int) -> bool:
        """Whether so many workers may run beside a session."""
        return workers * self.worker <= SETS * self.total

    @property
    def slot_bytes(self) -> int:
        """What the inputs and outputs of a timed worker may take: less where that lets more sets of baselines run."""
        most = int(min(SLOTS * self.total, SLOTS_BESIDE * self._free) / self._of_a_call)
        numbers = range(1, max(1, min(MOST_SLOTS, most)) + 1)
        slots = max(numbers, key=lambda slots: (min(WIN_SESSIONS, self.sets(RACING, slots)), slots))
        return slots * self._of_a_call

    def sets(self, baselines: int, slots: int = 0) -> int:
        """How many sets of so many baselines may run at once, one of them in a session. 0 slots: as in `slot_bytes`."""
        more = (slots * self._of_a_call or self.slot_bytes) - self._of_a_call
        free = self._free + self.worker - SLOTS_APART * more
        return max(1, int(free / (baselines * (self.worker + max(more, BESIDE * self.total)))))

    @property
    def _of_a_call(self) -> int:
        return max(1, self.inputs + self.outputs)

    @property
    def _free(self) -> float:
        """Beside a session."""
        return KEPT * self.total - self.timed

    @property
    def is_narrow(self) -> bool:
        """Whether what a library takes beside the tensors may be too much."""
        return max(self.expected, self.timed) > KEPT * self.total

    def check(self) -> None:
        """Raises TaskSizeError if the task cannot be judged in this memory."""
        needed = max(self.expected, self.timed)
        if needed > MOST * self.total:
            parts = ", ".join(
                f"{size / 2**30:.1f} GiB of {name}"
                for name, size in zip(("inputs", "parameters", "outputs"), self[1:4], strict=True)
            )
            raise TaskSizeError(
                f"to judge this task takes {needed / 2**30:.1f} GiB, and this GPU has {self.total / 2**30:.1f} GiB: it "
                f"has {parts} and holds up to {self.working / 2**30:.1f} GiB in forward(), and kb computes it in "
                "float64 too",
                hint="make its sizes smaller",
            )
