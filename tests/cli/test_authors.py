"""No author that costs money is asked without consent: by `--budget`, or on a terminal, where kb says the most."""

import os

import pytest
import typer

from kb.cli import authors as asking
from kb.cli.authors import allowed_authors
from kb.errors import SettingsError
from kb.settings import Settings
from kb.usecases import authors
from synth.authors.spending import Budget


@pytest.fixture
def settings(home: object, monkeypatch: pytest.MonkeyPatch) -> Settings:
    for name in list(os.environ):
        if name.startswith(("ANTHROPIC", "OPENAI", "KB_AUTHOR", "KB_LOCAL")):
            monkeypatch.delenv(name)
    monkeypatch.setattr(authors.shutil, "which", lambda program: None)
    return Settings.load()


@pytest.fixture
def key(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "x")


@pytest.fixture
def agreeing(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A terminal whose user agrees; returns the questions."""
    asked: list[str] = []

    def confirm(question: str, **_: object) -> bool:
        asked.append(question)
        return True

    monkeypatch.setattr(asking.sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(asking.typer, "confirm", confirm)
    return asked


@pytest.mark.usefixtures("key")
def test_without_a_terminal_a_key_alone_makes_no_run_cost_money(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    assert allowed_authors(settings, (), None, requests=8) == ((), Budget())
    assert capsys.readouterr().err == (
        "note: --budget 5.12usd would let anthropic:claude-opus-5-5 (by ANTHROPIC_API_KEY) write, for at most that; "
        "nobody is asked without it\n"
    )


@pytest.mark.usefixtures("key")
def test_a_budget_lets_it_be_asked_and_one_sentence_says_so(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    specs, limit = allowed_authors(settings, (), "2usd", requests=8)

    assert (list(specs), limit) == (["anthropic:claude-opus-5-5"], Budget(dollars=2))
    assert "answers and may spend at most $2.00" in capsys.readouterr().err


@pytest.mark.usefixtures("key")
def test_on_a_terminal_the_user_is_asked_once_with_the_most_that_it_may_cost(
    settings: Settings, agreeing: list[str]
) -> None:
    specs, limit = allowed_authors(settings, (), None, requests=8)

    assert agreeing == ["Ask anthropic:claude-opus-5-5 (by ANTHROPIC_API_KEY), for at most $5.12?"]
    assert (list(specs), limit) == (["anthropic:claude-opus-5-5"], Budget(dollars=5.12))


def test_what_has_no_known_price_is_offered_in_tokens(
    settings: Settings, agreeing: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(authors.shutil, "which", lambda program: program)

    _, limit = allowed_authors(settings, ["command:cat"], None, requests=2)

    assert (agreeing, limit) == (["Ask command:cat, for at most 160,000 tokens?"], Budget(tokens=160_000))


@pytest.mark.usefixtures("key", "agreeing")
def test_who_refuses_to_pay_gets_the_tuner_or_nothing_if_he_named_the_author(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(question: str, *, abort: bool, err: bool) -> bool:
        if abort:
            raise typer.Abort
        return False

    monkeypatch.setattr(asking.typer, "confirm", refuse)

    assert allowed_authors(settings, (), None, requests=8) == ((), Budget())
    with pytest.raises(typer.Abort):
        allowed_authors(settings, ["claude-opus-5-5"], None, requests=8)


def test_a_named_author_without_a_budget_is_refused_without_a_terminal(settings: Settings) -> None:
    with pytest.raises(SettingsError, match="costs money"):
        allowed_authors(settings, ["claude-opus-5-5"], None, requests=8)


@pytest.mark.parametrize("name", ["recorded:no-such-folder", "command:no-such-command --now"])
def test_a_folder_or_command_that_is_not_here_is_refused_before_anything_begins(settings: Settings, name: str) -> None:
    with pytest.raises(SettingsError, match=r"there is no (folder .*/no-such-folder|command no-such-command)$"):
        allowed_authors(settings, [name], None, requests=8)


def test_what_is_free_is_asked_at_once(
    settings: Settings, agreeing: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    specs, limit = allowed_authors(settings, ["openai:qwen3@http://127.0.0.1:8000/v1"], None, requests=8)

    assert (list(specs), limit, agreeing) == (["openai:qwen3@http://127.0.0.1:8000/v1"], Budget(), [])
    assert "openai:qwen3 answers and costs nothing" in capsys.readouterr().err


def test_nobody_is_asked_where_nothing_is_offered(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    assert allowed_authors(settings, (), None, requests=8) == ((), Budget())
    assert capsys.readouterr().err == ""
