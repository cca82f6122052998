"""What `--help` says: every command with an example that works, and what its exit status means."""

import re
import shlex
from collections.abc import Iterator

import pytest
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from kb import __version__
from kb.cli import app
from tests.cli.conftest import Run


def commands(group: TyperGroup, *above: str) -> Iterator[tuple[tuple[str, ...], TyperCommand]]:
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            yield from commands(command, *above, name)
        elif isinstance(command, TyperCommand):
            yield (*above, name), command


ROOT = get_command(app)
assert isinstance(ROOT, TyperGroup)
PARSERS = dict(commands(ROOT))
COMMANDS = list(PARSERS)
THAT_MAY_SAY_NO = [
    *(("ingest",), ("search",), ("context",), ("symbol",), ("cite",), ("doctor",)),
    *(("facts", w) for w in ("show", "answer")),
]
WRITING = [
    *(
        ("ingest",),
        ("web",),
        ("serve",),
        ("people", "add"),
        ("people", "remove"),
        ("mcp", "install"),
        ("batch", "judge"),
    ),
    *(("targets", w) for w in ("add", "alias", "move")),
    *(("facts", w) for w in ("accept", "reject", "reopen", "draft", "review")),
]
READING = [c for c in COMMANDS if c not in WRITING]


def named(command: tuple[str, ...]) -> str:
    return " ".join(command)


def test_the_commands_are_those_that_the_tests_below_know() -> None:
    assert set(THAT_MAY_SAY_NO) < set(COMMANDS)


def test_every_command_has_one_example_of_itself_that_kb_accepts(run: Run) -> None:
    for command in COMMANDS:
        examples = re.findall(r"Example: (.+)", run(*command, "--help").out)

        assert len(examples) == 1
        words = shlex.split(examples[0])
        assert tuple(words[: len(command) + 1]) == ("kb", *command)
        with PARSERS[command].make_context(named(command), words[len(command) + 1 :]) as parsed:
            assert parsed.params


def test_the_help_of_a_command_that_can_fail_states_its_exit_status(run: Run) -> None:
    for command in THAT_MAY_SAY_NO:
        text = " ".join(run(*command, "--help").out.split())

        assert re.search(r"Exit status: 0 when .+, 1 (when|otherwise)", text)


def test_every_reading_command_can_print_json(run: Run) -> None:
    for command in READING:
        assert "--json" in run(*command, "--help").out


@pytest.mark.parametrize("group", [(), ("targets",)], ids=lambda group: f"kb {named(group)}")
def test_the_list_of_commands_cuts_no_summary(run: Run, group: tuple[str, ...]) -> None:
    listed = run(*group, "--help").out.partition("Commands:")[2]

    assert listed.strip()
    assert "..." not in listed


def test_every_line_of_help_fits_the_screen(run: Run) -> None:
    texts = [run(*command, "--help").out for command in COMMANDS]

    assert [line for text in texts for line in text.splitlines() if len(line) > 80] == []


def test_the_version_is_the_installed_one(run: Run) -> None:
    assert run("--version").out == f"kb {__version__}\n"


@pytest.mark.parametrize("wrong", [("serach", "lds"), ("search",), ("search", "lds", "--budget", "0"), ("cite", "--x")])
def test_wrong_usage_is_exit_status_2_without_a_traceback(run: Run, wrong: tuple[str, ...]) -> None:
    outcome = run(*wrong)

    assert outcome.status == 2
    assert outcome.err.startswith("Usage: ")
    assert "Traceback" not in outcome.err
