"""Cases that refused a candidate are tried again by later judges; a file that a crash cut short does no harm."""

from pathlib import Path

from eval.judge.counterexamples import KEPT, Counterexamples
from eval.oracle.cases import CaseSeed


def seed(number: int) -> CaseSeed:
    return CaseSeed(sizes={"N": 5}, parameters=1, inputs=number, kinds=("given", "wide"))


def test_seeds_are_kept_for_other_judges(tmp_path: Path) -> None:
    path = tmp_path / "refused" / "task.jsonl"
    Counterexamples(path).add(seed(1))
    Counterexamples(path).add(seed(2))
    Counterexamples(path).add(seed(1))

    assert Counterexamples(path).latest() == [seed(1), seed(2)]


def test_a_line_of_an_earlier_kb_is_read(tmp_path: Path) -> None:
    path = tmp_path / "task.jsonl"
    path.write_text('{"sizes":{"N":5},"parameters":1,"inputs":7,"kinds":["given","wide"]}\n')

    assert Counterexamples(path).latest() == [seed(7)]


def test_only_the_latest_seeds_are_kept(tmp_path: Path) -> None:
    kept = Counterexamples(tmp_path / "task.jsonl")
    for number in range(3 * KEPT):
        kept.add(seed(number))

    assert kept.latest() == [seed(number) for number in range(2 * KEPT, 3 * KEPT)]


def test_a_line_that_is_cut_short_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "task.jsonl"
    line = seed(1).model_dump_json()
    path.write_bytes(f"{line}\n{line[:20]}\n\n".encode() + b"\xff\xfe\n" + seed(2).model_dump_json().encode()[:-1])

    Counterexamples(path).add(seed(3))

    assert Counterexamples(path).latest() == [seed(1), seed(3)]


def test_without_a_file_or_with_one_that_cannot_be_written_nothing_is_kept(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    for kept in (Counterexamples(None), Counterexamples(tmp_path / "file" / "below")):
        kept.add(seed(1))
        assert kept.latest() == []
