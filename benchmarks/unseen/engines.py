"""The DMA engines of the machine."""

from typing import Any, NamedTuple

import numpy as np

from benchmarks.unseen.chip import Chip, HazardKind
from benchmarks.unseen.faults import Fault, FaultKind
from benchmarks.unseen.instructions import Op
from benchmarks.unseen.scratchpad import Late, Owner, ScratchpadMemory

WORD_BYTES = 4


class Transfer(NamedTuple):
    gets: bool
    dtype: Any
    """Of the elements in the outer memory."""
    token: int
    near: int
    far: int
    count: int
    rows: int
    near_pitch: int
    far_pitch: int

    @property
    def first(self) -> int:
        """The first word that it owns in the scratchpad."""
        return self.near

    @property
    def last(self) -> int:
        return self.near + (self.rows - 1) * self.near_pitch + self.count - 1

    @property
    def far_end(self) -> int:
        """The byte after the last one in the outer memory."""
        return self.far + (self.rows - 1) * self.far_pitch + self.count * self.dtype.itemsize


class Engines:
    def __init__(self, chip: Chip, outer: Any, pad: ScratchpadMemory) -> None:
        self._chip, self._shape, self._outer, self._pad = chip, chip.transfers, outer, pad
        self._ends: list[list[int]] = [[] for _ in range(self._shape.engines)]
        """When the transfers of each engine are done, in order."""
        self._token_done: dict[int, int] = {}
        self._puts: list[tuple[int, Transfer]] = []
        late = chip.hazard(HazardKind.LATE_GET)
        self._late = late.cycles if late else 0

    def done(self) -> int:
        """When all transfers are done."""
        return max(self._token_done.values(), default=0)

    def token_done(self, token: int) -> int:
        """When all transfers with this token are done. Raises Fault if there was none."""
        if token not in self._token_done:
            raise Fault(FaultKind.DEADLOCK, f"it waits for token {token}, which no transfer has had")
        return self._token_done[token]

    def described(self, op: Op, registers: list[int], token: int) -> Transfer:
        """The transfer that registers describe. Raises Fault if there is no such transfer."""
        dtype = np.dtype(np.float16 if op in (Op.GET_HALF, Op.PUT_HALF) else np.float32)
        fields = dict(zip(self._shape.order, registers, strict=True))
        transfer = Transfer(op in (Op.GET, Op.GET_HALF), dtype, token, **fields)
        self._check(transfer)
        return transfer

    def _check(self, transfer: Transfer) -> None:
        line, most = self._chip.scratchpad.line_words, self._shape.rows_most
        if not 0 <= transfer.token < self._shape.tokens:
            detail = f"token {transfer.token}; there are 0 to {self._shape.tokens - 1}"
            raise Fault(FaultKind.LIMIT, detail)
        if not 1 <= transfer.rows <= most or transfer.count < 1:
            detail = f"{transfer.rows} rows of {transfer.count} elements; the most rows are {most}, the least of both 1"
            raise Fault(FaultKind.LIMIT, detail)
        if transfer.near % line or transfer.near_pitch % line:
            detail = f"scratchpad address {transfer.near}, pitch {transfer.near_pitch}; both are multiples of {line}"
            raise Fault(FaultKind.MISALIGNED, detail)
        size = transfer.dtype.itemsize
        if transfer.far % size or transfer.far_pitch % size:
            detail = f"outer address {transfer.far}, pitch {transfer.far_pitch}; both are multiples of {size}"
            raise Fault(FaultKind.MISALIGNED, detail)
        if transfer.rows > 1 and (transfer.near_pitch < transfer.count or transfer.far_pitch < 0):
            detail = f"rows of {transfer.count} with pitches of {transfer.near_pitch} words, {transfer.far_pitch} bytes"
            raise Fault(FaultKind.BAD_OPERAND, detail)
        self._pad.check(transfer.first, transfer.last)
        if transfer.far < 0 or transfer.far_end > len(self._outer):
            detail = f"bytes {transfer.far} to {transfer.far_end - 1}; it has {len(self._outer)}"
            raise Fault(FaultKind.OUTER_RANGE, detail)

    def accepts(self, transfer: Transfer, time: int) -> int:
        """When its engine holds it, at the earliest at this time."""
        ends = self._ends[transfer.token % self._shape.engines]
        return max(time, ends[-self._shape.queue]) if len(ends) >= self._shape.queue else time

    def begin(self, transfer: Transfer, time: int) -> None:
        """Make the transfer that issues at this time. Raises Fault at a race."""
        ends = self._ends[transfer.token % self._shape.engines]
        end = max(time, ends[-1] if ends else 0) + self._cycles(transfer)
        ends.append(end)
        self._token_done[transfer.token] = max(end, self._token_done.get(transfer.token, 0))
        self._pad.claim(time, transfer.first, transfer.last, writes=transfer.gets)
        self._claim_outer(transfer, time)
        self._pad.own(Owner(end, transfer.first, transfer.last, transfer.gets))
        self._move(transfer, time, end)

    def _cycles(self, transfer: Transfer) -> int:
        """For which the transfer keeps its engine busy."""
        size = self._shape.burst_bytes
        starts = transfer.far + transfer.far_pitch * np.arange(transfer.rows)
        bursts = (starts + transfer.count * transfer.dtype.itemsize - 1) // size - starts // size + 1
        return self._shape.startup_cycles + self._shape.burst_cycles * int(bursts.sum())

    def _claim_outer(self, transfer: Transfer, time: int) -> None:
        if not transfer.gets:
            self._puts.append((self._ends[transfer.token % self._shape.engines][-1], transfer))
            return
        self._puts = [(end, put) for end, put in self._puts if end > time]
        for end, put in self._puts:
            if put.far < transfer.far_end and transfer.far < put.far_end:
                detail = (
                    f"a get of bytes {transfer.far} to {transfer.far_end - 1}, which a put writes until cycle {end}"
                )
                raise Fault(FaultKind.RACE, detail)

    def _move(self, transfer: Transfer, time: int, end: int) -> None:
        shape, size = (transfer.rows, transfer.count), transfer.dtype.itemsize
        far = np.ndarray(shape, transfer.dtype, self._outer, transfer.far, (transfer.far_pitch, size))
        place = transfer.near + transfer.near_pitch * np.arange(transfer.rows)[:, None] + np.arange(transfer.count)
        if not transfer.gets:
            far[:] = self._pad.seen("put", time, transfer.first, transfer.last)[place]
            return
        if self._late:
            last = place[-1]
            old = self._pad.words[last].copy()
            readers = ("load", "product", "put")
            self._pad.late(Late(end, end + self._late, readers, int(last[0]), int(last[-1]), last, old))
        self._pad.words[place] = far
