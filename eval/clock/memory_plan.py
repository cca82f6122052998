"""How much of a GPU's memory it takes to judge a task, computed from its interface before anything is placed there."""

from typing import NamedTuple

from eval.roofline import tensor_bytes
from kb.errors import TaskSizeError
from kb.types.kernels import Interface

MOST, KEPT, ROOMY = 0.9, 0.75, 0.6
"""Share of the memory that tensors may take, because drivers and libraries of several processes need the rest; that
they take beside sets of baselines which wait; and that they take where what could be elsewhere stays."""
SETS = 0.25
"""Share that may go to baselines that start together, beside those of one candidate's session."""
SLOTS = 1 / 32
"""Share that more inputs and outputs of a worker take; see eval.supervisor.device_memory."""


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

    def starts_together(self, workers: int) -> bool:
        """Whether so many workers may run beside a session."""
        return workers * self.worker <= SETS * self.total

    def sets(self, baselines: int) -> int:
        """How many sets of so many baselines may run at the same time, one of them in a session."""
        free = KEPT * self.total - self.timed + self.worker
        return max(1, int(free / (baselines * (self.worker + SLOTS * self.total))))

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
