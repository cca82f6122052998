"""Authors that write: a command, a person with files, recorded answers."""

import os
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from synth.authors.author import Ask, AuthorError, Outcome
from synth.authors.command import CommandAuthor
from synth.authors.files import FilesAuthor
from synth.authors.recorded import RecordedAuthor

ASK = Ask(system="rules", stable="manual", said=("task",), output_tokens=1000)


def command(*words: str, **settings: object) -> CommandAuthor:
    return CommandAuthor(words, lambda folder, command: command, **settings)


def python(code: str, **settings: object) -> CommandAuthor:
    return command(sys.executable, "-c", code, **settings)


def test_a_command_gets_the_prompt_and_its_output_is_the_answer() -> None:
    reply = python("import sys; print(sys.stdin.read().upper(), end='')").answer(ASK)

    assert reply.text == "RULES\n\nMANUAL\n\nTASK\n"
    assert reply.usage == ASK.counted(reply.text)


def test_a_command_runs_in_an_empty_folder_with_a_clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", "planted")
    monkeypatch.setenv("ITS_KEY", "its own")
    author = python("import os; print(os.listdir(), sorted(os.environ), os.getcwd())", variables=("ITS_KEY",))

    text = author.answer(ASK).text

    assert text.startswith("[] ")
    assert "SOME_KEY" not in text
    assert "'ITS_KEY'" in text
    assert not Path(text.split()[-1]).exists(), "its folder is gone"
    assert author.secrets == ("its own",)


@pytest.mark.parametrize(
    ("author", "outcome", "said"),
    [
        (python("import sys; print('no'); sys.exit('out of credit')"), Outcome.INVALID, "status 1: out of credit"),
        (python("raise SystemExit(3)"), Outcome.INVALID, "status 3: it says nothing"),
        (command("/no/such/program"), Outcome.INVALID, "/no/such/program"),
        (python("import time; time.sleep(60)", time_s=0.5), Outcome.TIMED_OUT, "0.5 s"),
    ],
)
def test_a_command_that_fails_says_why(author: CommandAuthor, outcome: Outcome, said: str) -> None:
    with pytest.raises(AuthorError, match=said) as caught:
        author.answer(ASK)
    assert caught.value.outcome is outcome


@pytest.mark.parametrize("time_s", [30.0, 1.0], ids=["it ends", "it takes too long"])
def test_the_children_of_a_command_end_with_it(time_s: float, tmp_path: Path) -> None:
    code = (
        "import os, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(child.pid))\n"
        f"time.sleep({0 if time_s > 10 else 60})\n"
    )
    started = time.monotonic()
    with suppress(AuthorError):
        python(code, time_s=time_s).answer(ASK)

    assert time.monotonic() - started < 20, "nobody waits for the child"
    child = int((tmp_path / "pid").read_text())
    for _ in range(100):
        with suppress(ProcessLookupError):
            os.kill(child, 0)
            if "Z" not in Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0]:
                time.sleep(0.05)
                continue
        return
    pytest.fail("the child lives on")


def test_a_person_reads_the_prompt_in_a_file_and_answers_in_another(tmp_path: Path) -> None:
    folder = tmp_path / "asked"

    def person(_pause_s: float) -> None:
        assert (folder / "002-prompt.md").read_text() == ASK.text
        (folder / "002-answer.part").write_text("the kernel")
        (folder / "002-answer.part").rename(folder / "002-answer.md")

    reply = FilesAuthor(folder, sleep=person).answer(ASK.model_copy(update={"number": 2}))

    assert (reply.text, reply.usage) == ("the kernel", ASK.counted("the kernel"))


def test_an_answer_that_is_there_already_is_taken_at_once(tmp_path: Path) -> None:
    (tmp_path / "001-answer.md").write_text("before the kill")
    author = FilesAuthor(tmp_path, sleep=lambda pause_s: pytest.fail("it waits"))

    assert author.answer(ASK).text == "before the kill"


def test_a_folder_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(AuthorError, match="cannot use"):
        FilesAuthor(tmp_path / "file").answer(ASK)
    with pytest.raises(AuthorError, match="cannot read"):
        RecordedAuthor(tmp_path / "none").answer(ASK)


def test_recorded_answers_come_in_the_order_of_their_names_and_run_out(tmp_path: Path) -> None:
    for name in ("b.md", "a.md", ".hidden"):
        (tmp_path / name).write_text(name)
    author = RecordedAuthor(tmp_path)

    assert [author.answer(ASK.model_copy(update={"number": n})).text for n in (1, 2, 1)] == ["a.md", "b.md", "a.md"]
    assert author.name == f"recorded:{tmp_path.name}"
    with pytest.raises(AuthorError, match="2 answers, all of which are given"):
        author.answer(ASK.model_copy(update={"number": 3}))
