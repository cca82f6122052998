"""A disk that is full while a run goes on: it ends with a plain message, and nothing that was paid is paid again."""

import errno
import os
import resource
from collections.abc import Callable
from contextlib import suppress
from io import FileIO
from pathlib import Path

import pytest

from kb.errors import DiskFullError, RunError
from kb.runs import lines
from kb.runs.entries import JournalEntry
from kb.runs.journal import JOURNAL, Run, Runs
from kb.runs.lines import Lines
from kb.types.evidence import Evidence
from kb.types.kernels import Candidate
from synth.authors.author import Ask, Reply
from tests.conftest import fill
from tests.runs.fakes import FakeJudge, PaidAuthor, asking, loop_of, start


class Filling(PaidAuthor):
    """Something else fills the disk while it writes this answer."""

    def __init__(self, log: Path, number: int, disk: Path, pause_s: float = 0.0) -> None:
        super().__init__(log, pause_s)
        self.number, self.disk = number, disk

    def answer(self, ask: Ask) -> Reply:
        reply = super().answer(ask)
        if ask.number == self.number and not (self.disk / "fill").exists():
            with suppress(OSError):  # the run writes, too, and there is no space for all of it
                fill(self.disk, leave=0)
        return reply


class FillingJudge(FakeJudge):
    """Something else fills the disk while it judges this kernel."""

    def __init__(self, log: Path, number: int, disk: Path) -> None:
        super().__init__(log, 0.05)
        self.number, self.disk = number, disk

    def verify(self, one: Candidate) -> Evidence:
        evidence = super().verify(one)
        if len(self.log.read_text().splitlines()) == self.number:
            with suppress(OSError):
                fill(self.disk, leave=0)
        return evidence


def paid(log: Path) -> list[str]:
    return log.read_text().splitlines() if log.exists() else []


def ends_as_full(run: Run, library: Path, author: PaidAuthor, judge: FakeJudge) -> Run:
    """The run after it was told that its disk is full."""
    with pytest.raises(DiskFullError, match="no space left") as told:
        loop_of(run, run.folder.parents[1], library).optimize(asking(author), judge)
    assert "paid again" not in told.value.message
    return Runs(run.folder.parents[1]).get(run.id)


def test_no_author_is_asked_if_there_is_no_room_for_the_answer(
    small_disk: Path, library: Path, judge: FakeJudge, tmp_path: Path
) -> None:
    log = tmp_path / "paid.log"
    run = start(small_disk / "home")
    filler = fill(small_disk, leave=100_000)

    again = ends_as_full(run, library, PaidAuthor(log), judge)

    assert (paid(log), again.entries, again.spent.unanswered) == ([], [], 0)
    filler.unlink()
    loop_of(again, small_disk / "home", library).optimize(asking(PaidAuthor(log)), judge)
    assert again.ended
    assert again.spent.unanswered == 0


def either(number: int, who: str) -> Callable[[Path, Path], tuple[PaidAuthor, FakeJudge]]:
    """An author and a judge, one of whom sees the disk full at its turn with this number."""

    def made(work: Path, disk: Path) -> tuple[PaidAuthor, FakeJudge]:
        log, judged = work / "paid.log", work / "judged.log"
        if who == "judge":
            return PaidAuthor(log, 0.1), FillingJudge(judged, number, disk)
        return Filling(log, number, disk, 0.1 if who == "slow author" else 0.0), FakeJudge(judged, 0.02)

    return made


TURNS = {f"{who} {number}": either(number, who) for who in ("author", "slow author", "judge") for number in (1, 2, 3)}


@pytest.mark.parametrize("turn", TURNS.values(), ids=TURNS)
def test_an_answer_that_comes_when_the_disk_is_full_is_kept_and_not_paid_again(
    small_disk: Path, library: Path, tmp_path: Path, turn: Callable[[Path, Path], tuple[PaidAuthor, FakeJudge]]
) -> None:
    log = tmp_path / "paid.log"
    author, judge = turn(tmp_path, small_disk)
    run = start(small_disk / "home", evaluations=9)

    again = ends_as_full(run, library, author, judge)

    answered = [one for one in again.exchanges if one.answered]
    assert len(answered) == len(paid(log)) >= 1
    assert again.spent.unanswered == 0
    (small_disk / "fill").unlink()
    loop_of(again, small_disk / "home", library).optimize(asking(PaidAuthor(log)), FakeJudge(tmp_path / "judged.log"))
    assert again.ended
    assert len(set(paid(log))) == len(paid(log)) == len(again.exchanges)
    assert [one.text for one in again.exchanges[: len(answered)]] == [one.text for one in answered]


class Looking(PaidAuthor):
    """Looks at the run while it writes, as the page and the command line do."""

    def __init__(self, log: Path, run: Run) -> None:
        super().__init__(log)
        self.run, self.seen = run, list[int]()

    def answer(self, ask: Ask) -> Reply:
        other = Run(self.run.folder)
        self.seen.append(other.spent.unanswered)
        with pytest.raises(RunError, match="in use"), other.held():
            pass
        return super().answer(ask)


def test_others_read_a_run_that_keeps_room_and_leave_it_there(
    home: Path, library: Path, judge: FakeJudge, tmp_path: Path
) -> None:
    run = start(home, evaluations=4)
    author = Looking(tmp_path / "paid.log", run)

    loop_of(run, home, library).optimize(asking(author), judge)

    assert author.seen
    assert all(author.seen)
    assert b"\0" not in (run.folder / JOURNAL).read_bytes()
    assert Run(run.folder).entries == run.entries


def test_a_hold_that_fails_cuts_nothing_that_another_process_wrote(home: Path) -> None:
    run = start(home)
    other = Run(run.folder)
    with run.held():
        run.append(JournalEntry(kind="ended", step=1, text="enough"))
    header = run.folder / "run.json"
    text = header.read_text()
    header.write_text("{")
    with pytest.raises(RunError, match="cannot be read"), other.held():
        pass
    header.write_text(text)

    assert Run(run.folder).ended == "enough"


@pytest.mark.parametrize("kind", ["answered", "tried"])
def test_an_answer_that_cannot_be_kept_is_not_lost_silently(
    home: Path, library: Path, judge: FakeJudge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    run, author = start(home, evaluations=9), PaidAuthor(tmp_path / "paid.log", 0.2)
    monkeypatch.setattr(lines, "_write", Full(kind))

    with pytest.raises(DiskFullError, match=r"what paid answered to request [12] is lost"):
        loop_of(run, home, library).optimize(asking(author), judge)

    assert Runs(home).get(run.id).spent.unanswered >= 1


class Full:
    """Writes nothing from the first entry of a kind on."""

    def __init__(self, kind: str) -> None:
        self.kind, self.refused = f'"kind": "{kind}"'.encode(), False

    def __call__(self, file: FileIO, content: bytes) -> None:
        if self.kind in content or self.refused:
            self.refused = True
            raise OSError(errno.ENOSPC, "No space left on device")
        file.write(content)


def test_no_author_is_asked_if_the_journal_may_not_grow(
    home: Path, library: Path, judge: FakeJudge, tmp_path: Path
) -> None:
    run, log = start(home), tmp_path / "paid.log"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, hard))
    try:
        again = ends_as_full(run, library, PaidAuthor(log), judge)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert (paid(log), again.entries) == ([], [])


@pytest.mark.parametrize("after", range(0, 400, 7))
def test_what_a_journal_acknowledged_is_all_that_is_read_wherever_the_disk_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    (tmp_path / JOURNAL).write_bytes(b"")
    left, written = after, list[bytes]()

    def limited(file: FileIO, content: bytes) -> None:
        nonlocal left
        if new := max(0, file.tell() + len(content) - os.fstat(file.fileno()).st_size):
            file.write(content[: len(content) - new + min(new, left)])
            if new > left:
                left = 0
                raise OSError(errno.ENOSPC, "No space left on device")
            left -= new
        else:
            file.write(content)

    monkeypatch.setattr(lines, "_write", limited)
    kept = Lines(tmp_path / JOURNAL)
    kept.read()
    for number in range(12):
        line, room = f"line {number} {'x' * (number * 5 % 17)}\n".encode(), (0, 40, 20)[number % 3]
        try:
            kept.append(line, room=room)
        except OSError:
            assert left == 0
            continue
        written.append(line[:-1])
        assert Lines(tmp_path / JOURNAL).read() == written

    assert Lines(tmp_path / JOURNAL).read() == written
    kept.trim()
    assert (tmp_path / JOURNAL).read_bytes() == b"".join(line + b"\n" for line in written)


TORN = {
    "the beginning of a line": b'{"kind": "jud',
    "room": bytes(100),
    "the beginning of a line in its room": b'{"kind": "jud' + bytes(100),
    "the end of a line in its room": bytes(100) + b'd"}\n' + bytes(100),
    "a line without its middle": b'{"ki' + bytes(100) + b'"}\n',
}


@pytest.mark.parametrize("rest", TORN.values(), ids=TORN)
def test_a_line_that_power_cut_off_counts_as_not_written(tmp_path: Path, rest: bytes) -> None:
    (tmp_path / JOURNAL).write_bytes(b"one\ntwo\n" + rest)
    kept = Lines(tmp_path / JOURNAL)

    assert kept.read() == [b"one", b"two"]
    kept.append(b"three\n")
    kept.trim()
    assert (tmp_path / JOURNAL).read_bytes() == b"one\ntwo\nthree\n"


def test_lines_behind_a_damaged_one_are_not_taken_for_room(tmp_path: Path) -> None:
    (tmp_path / JOURNAL).write_bytes(text := b"one\n" + bytes(9) + b"\nthree\nfour\n")
    kept = Lines(tmp_path / JOURNAL)

    assert kept.read() == text.splitlines()
    kept.trim()
    assert (tmp_path / JOURNAL).read_bytes() == text


def test_lines_that_come_while_the_file_is_read_are_no_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / JOURNAL).write_bytes(whole := b"one\ntwo\nthree\nfour\n")
    seen = iter((b"one\n" + bytes(4) + b"three\nfour\n", whole))  # "two" was not there yet when its place was read
    monkeypatch.setattr(Path, "read_bytes", lambda path: next(seen))

    assert Lines(tmp_path / JOURNAL).read() == whole.splitlines()
