"""Who may use a served home: added, listed and removed at the command line."""

import stat
from pathlib import Path

import pytest

from kb.errors import SettingsError
from kb.serve.people import TOKEN, People, Role
from tests.cli.conftest import Outcome, Run


def test_a_token_is_printed_once_and_only_its_digest_is_kept(run: Run, home: Path) -> None:
    token = run("people", "add", "alice", "--role", "author").out.strip()

    assert TOKEN.fullmatch(token)
    kept = (home / "people.json").read_text()
    assert token not in kept
    assert stat.S_IMODE((home / "people.json").stat().st_mode) == 0o600
    assert People(home).of(token) == ("alice", Role.AUTHOR)


def test_people_are_listed_and_removed(run: Run) -> None:
    for name, role in (("alice", "author"), ("carol", "curator"), ("rob", "reader")):
        assert run("people", "add", name, "--role", role).status == 0
    assert run("people", "remove", "carol") == Outcome(0, "", "")

    assert run("people", "list").out == "alice  author\nrob  reader\n"
    assert run("people", "list", "--json").json == {"alice": "author", "rob": "reader"}
    assert run("people", "remove", "carol").refusal == ("nobody is called 'carol'", "`kb people list` shows all")


def test_the_role_is_reader_if_none_is_named(run: Run, home: Path) -> None:
    assert People(home).of(run("people", "add", "alice").out.strip()) == ("alice", Role.READER)


@pytest.mark.parametrize("name", ["", "a b", "../x", "x" * 65, "a\n", "-x", 'a"b'])
def test_a_name_is_plain(home: Path, name: str) -> None:
    with pytest.raises(SettingsError, match="is no name"):
        People(home).add(name, Role.READER)

    assert not (home / "people.json").exists()


def test_each_role_may_what_those_before_it_may() -> None:
    assert [[role.may(least) for least in Role] for role in Role] == [
        [True, False, False],
        [True, True, False],
        [True, True, True],
    ]
