"""Judges the candidates of one run on a cluster, in rounds: each is a batch of all that is known to want a verdict."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from eval.batch.here import kind_that_timed
from eval.batch.judge import Tell, judge_batch
from eval.batch.pack import Batch, BatchVerdict, code_digest, read_batch, read_verdict, writing
from kb.errors import BatchError, JudgeError
from kb.types.evidence import Evidence
from kb.types.kernels import Candidate, Interface

Place = tuple[Path, Batch, int]
"""A batch's folder, the batch, and the number of a candidate in it."""


class JudgesInRounds:
    """A `JudgesAhead`. Verdicts that came before a kill lie in the batches' folders, and count.

    Args:
        folder: Holds the batches of the run.
        pack: Writes candidates as a batch into a new folder, with the kind of card that has timed others; empty: none.
        tell, devices, pool: See `judge_batch`.
    """

    settings_at_once, in_rounds = 0, True

    def __init__(
        self,
        interface: Interface,
        folder: Path,
        pack: Callable[[Path, Sequence[Candidate], str], object],
        tell: Tell,
        devices: str,
        pool: str,
    ) -> None:
        self.interface = interface
        self._folder, self._pack, self._tell, self._devices, self._pool = folder, pack, tell, devices, pool
        self._expected = dict[str, Candidate]()

    def expect(self, candidate: Candidate, *, estimate: bool = False) -> None:
        """Put a candidate into the next batch."""
        self._expected[candidate.digest] = candidate

    def verify(self, candidate: Candidate) -> Evidence:
        """The evidence on a candidate. Raises JudgeError if the cluster gave none, and what `judge_batch` raises."""
        self.expect(candidate)
        if candidate.digest not in (places := self._places()):
            self._pack_expected(places)
            places = self._places()
        place = places[candidate.digest]
        if not ((found := _verdict(place)) and found.evidence):
            judge_batch(place[0], self._tell, self._devices, self._pool)
            found = _verdict(place)
        if not (found and found.evidence):
            why = found.failure if found else "no machine of it may judge this kernel"
            raise JudgeError(f"the pool gave no verdict: {why}", hint="`kb runs resume` tries it again")
        return found.evidence

    def _pack_expected(self, places: dict[str, Place]) -> None:
        """Pack what is in no batch, for the kind of card that timed others: the journal may not have these times."""
        expected = self._expected.copy()  # other threads add answers
        kinds = (kind_that_timed(found.evidence) for place in places.values() if (found := _verdict(place)))
        with writing(self._folder):
            self._folder.mkdir(exist_ok=True)
        number = 1 + max((int(folder.name) for folder in self._folders()), default=0)
        new = [one for digest, one in expected.items() if digest not in places]
        self._pack(self._folder / str(number), new, next(filter(None, kinds), ""))

    def _places(self) -> dict[str, Place]:
        """Where each candidate lies in the batches for this version of the judge."""
        return {
            entry.proposal.candidate.digest: (folder, batch, number)
            for folder in self._folders()
            if (batch := read_batch(folder)).judge == code_digest()
            for number, entry in batch.entries.items()
        }

    def _folders(self) -> list[Path]:
        return [folder for folder in self._folder.glob("*") if folder.name.isdecimal()]

    def estimate(self, candidate: Candidate) -> NoReturn:
        """Raises JudgeError."""
        raise JudgeError("a pool times no settings", hint="start a run without --pool to tune its parameters")


def _verdict(place: Place) -> BatchVerdict | None:
    """None if there is none, or it is damaged: `judge_batch` says so and has the candidate judged again."""
    with suppress(BatchError):
        return read_verdict(*place)
    return None
