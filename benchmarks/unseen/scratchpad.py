"""The scratchpad of the machine: its words, banks, owners, and words that readers find late."""

from typing import Any, NamedTuple

import numpy as np

from benchmarks.unseen.chip import Chip
from benchmarks.unseen.faults import Fault, FaultKind


class Owner(NamedTuple):
    """A transfer that is under way."""

    until: int
    first: int
    last: int
    writes: bool
    """Whether it writes the scratchpad: it is a get."""


class Late(NamedTuple):
    """Words that some readers find as they were."""

    since: int
    until: int
    readers: tuple[str, ...]
    first: int
    last: int
    place: Any
    """Index of the words."""
    old: Any


class ScratchpadMemory:
    """Words as float32. Readers are `load`, `product` and `put`; times are cycles."""

    def __init__(self, chip: Chip) -> None:
        self._shape = chip.scratchpad
        self.words = np.full(self._shape.words, np.nan, np.float32)
        self._owners: list[Owner] = []
        self._late: list[Late] = []
        self._written: list[tuple[int, int, int]] = []
        self._conflicts: dict[tuple[int, int, int], int] = {}

    def check(self, first: int, last: int) -> None:
        """Raises Fault if there are no such words."""
        if first < 0 or last >= self._shape.words:
            detail = f"words {first} to {last}; it has words 0 to {self._shape.words - 1}"
            raise Fault(FaultKind.SCRATCHPAD_OVERFLOW, detail)

    def claim(self, time: int, first: int, last: int, *, writes: bool) -> None:
        """Raises Fault if a transfer that is not done owns some of these words."""
        if self._owners:
            self._owners = [owner for owner in self._owners if owner.until > time]
        for owner in self._owners:
            if owner.first <= last and first <= owner.last and (owner.writes or writes):
                kind = "get" if owner.writes else "put"
                detail = f"words {first} to {last} at cycle {time}; a {kind} owns {owner.first} to {owner.last}"
                raise Fault(FaultKind.RACE, f"{detail} until cycle {owner.until}")

    def own(self, owner: Owner) -> None:
        self._owners.append(owner)

    def late(self, late: Late) -> None:
        self._late.append(late)

    def written(self, until: int, first: int, last: int) -> None:
        """Note that words between these are being written until a time."""
        self._written.append((until, first, last))

    def ready(self, time: int, first: int, last: int) -> int:
        """The time, from the given one on, at which words are written."""
        if self._written:
            self._written = [write for write in self._written if write[0] > time]
            for until, low, high in self._written:
                if low <= last and first <= high:
                    time = max(time, until)
        return time

    def settled(self, time: int) -> int:
        """When everything is written, and nobody finds old words any longer, of what is late at this time."""
        late = [late.until for late in self._late if late.since <= time]
        return max([*late, *(until for until, _, _ in self._written)], default=0)

    def seen(self, reader: str, time: int, first: int, last: int) -> Any:
        """All words as a reader of the given range finds them."""
        if not self._late:
            return self.words
        self._late = [late for late in self._late if late.until > time]
        hidden = [late for late in self._late if reader in late.readers and late.first <= last and first <= late.last]
        if not hidden:
            return self.words
        words = self.words.copy()
        for late in reversed(hidden):
            words[late.place] = late.old
        return words

    def conflict_cycles(self, first: int, stride: int, count: int) -> int:
        """Cycles in which the banks serve `count` words from `first` on, each `stride` words after the one before."""
        line, banks = self._shape.line_words, self._shape.banks
        key = (first % (line * banks), stride, count)
        if key not in self._conflicts:
            self._conflicts[key] = self.conflicts_of(key[0] + stride * np.arange(count))
        return self._conflicts[key]

    def conflicts_of(self, addresses: Any) -> int:
        """Cycles in which the banks serve words: the largest number of different lines in one bank, at least 1."""
        lines = np.unique(addresses // self._shape.line_words)
        return int(np.bincount(lines % self._shape.banks).max()) if len(lines) else 1
