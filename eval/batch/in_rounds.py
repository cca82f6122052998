"""Judges the candidates of one run on a cluster, in rounds: each is a batch of all that is known to want a verdict."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from eval.batch.judge import Tell, judge_batch
from eval.batch.pack import Batch, code_digest, read_batch, read_verdict
from kb.errors import JudgeError
from kb.types.evidence import Evidence
from kb.types.kernels import Candidate, Interface


class JudgesInRounds:
    """A `JudgesAhead`. Verdicts that came before a kill lie in the batches' folders, and count.

    Args:
        folder: Holds the batches of the run.
        pack: Writes candidates as a batch into a new folder.
        tell, devices, pool: See `judge_batch`.
    """

    settings_at_once, in_rounds = 0, True

    def __init__(
        self,
        interface: Interface,
        folder: Path,
        pack: Callable[[Path, Sequence[Candidate]], object],
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
            expected = self._expected.copy()  # other threads add answers
            self._folder.mkdir(exist_ok=True)
            number = 1 + max((int(folder.name) for folder in self._folders()), default=0)
            self._pack(self._folder / str(number), [one for digest, one in expected.items() if digest not in places])
            places = self._places()
        place = places[candidate.digest]
        if not ((found := read_verdict(*place)) and found.evidence):
            judge_batch(place[0], self._tell, self._devices, self._pool)
            found = read_verdict(*place)
        if not (found and found.evidence):
            why = found.failure if found else "no machine of it may judge this kernel"
            raise JudgeError(f"the pool gave no verdict: {why}", hint="`kb runs resume` tries it again")
        return found.evidence

    def _places(self) -> dict[str, tuple[Path, Batch, int]]:
        """Where each candidate lies in the batches for this version of the judge."""
        read = [(folder, read_batch(folder)) for folder in self._folders()]
        return {
            entry.proposal.candidate.digest: (folder, batch, number)
            for folder, batch in read
            if batch.judge == code_digest()
            for number, entry in batch.entries.items()
        }

    def _folders(self) -> list[Path]:
        return [folder for folder in self._folder.glob("*") if folder.name.isdecimal()]

    def estimate(self, candidate: Candidate) -> NoReturn:
        """Raises JudgeError."""
        raise JudgeError("a pool times no settings", hint="start a run without --pool to tune its parameters")
