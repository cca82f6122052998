"""The faults that end a program of an unseen chip."""

from enum import StrEnum


class FaultKind(StrEnum):
    UNKNOWN_INSTRUCTION = "unknown instruction"
    BAD_OPERAND = "bad operand"
    REGISTER_RANGE = "register out of range"
    SCRATCHPAD_OVERFLOW = "scratchpad overflow"
    OUTER_RANGE = "outer memory out of range"
    MISALIGNED = "misaligned transfer"
    LIMIT = "limit exceeded"
    DIVISION = "division by zero"
    RACE = "race"
    DEADLOCK = "deadlock"
    RUNAWAY = "too many instructions"


class Fault(Exception):  # noqa: N818 - a verdict, not a failure of the machine
    """Ends a program. Its text names the kind, the line of the program, and the values."""

    def __init__(self, kind: FaultKind, detail: str, line: int = 0) -> None:
        super().__init__(kind, detail, line)
        self.kind, self.detail, self.line = kind, detail, line

    def __str__(self) -> str:
        return f"{self.kind}: {self.detail}" + (f" (line {self.line})" if self.line else "")
