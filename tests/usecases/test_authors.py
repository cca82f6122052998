"""Who is asked follows from names, settings and the environment. Nobody is paid unasked, and no name holds a key."""

import os
from pathlib import Path

import pytest

from kb.errors import SettingsError
from kb.settings import Settings
from kb.usecases import authors
from kb.usecases.authors import AuthorChoice, AuthorSpec, chosen, most_for, must_be_paid, requests_for, seats_of
from synth.authors.spending import Budget


@pytest.fixture(autouse=True)
def nothing_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key, no server, no agent."""
    for name in list(os.environ):
        if name.startswith(("ANTHROPIC", "OPENAI", "KB_AUTHOR", "KB_LOCAL")):
            monkeypatch.delenv(name)
    monkeypatch.setattr(authors.shutil, "which", lambda program: None)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path)


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("claude-opus-5-5", AuthorSpec(1, "anthropic", "claude-opus-5-5")),
        ("anthropic:m", AuthorSpec(1, "anthropic", "m")),
        ("2:anthropic:m@http://127.0.0.1:1", AuthorSpec(2, "anthropic", "m", "http://127.0.0.1:1")),
        ("openai:qwen3:32b@http://gpu:8000/v1", AuthorSpec(1, "openai", "qwen3:32b", "http://gpu:8000/v1")),
        ("openai:gpt", AuthorSpec(1, "openai", "gpt", "https://api.openai.com/v1")),
        ("0.5:command:agent --one 'two three'", AuthorSpec(0.5, "command", "agent --one 'two three'")),
        ("files:/a/b", AuthorSpec(1, "files", "/a/b")),
        ("recorded:/a", AuthorSpec(1, "recorded", "/a")),
    ],
)
def test_an_author_is_named_in_one_word(text: str, spec: AuthorSpec) -> None:
    assert AuthorSpec.parse(text) == spec
    assert AuthorSpec.parse(str(spec)) == spec, "a plan keeps it"


@pytest.mark.parametrize(
    "text", ["", "oracle", "gpt-5", "0:claude-opus-5-5", ":claude", "openai:", "command: ", "command:a 'b"]
)
def test_what_names_no_author_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="names no author"):
        AuthorSpec.parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "openai:m@http://me:password@host/v1",
        "openai:m@http://host/v1?api-key=x",
        "command:agent --key planted-key-123",
        "openai:m@http://host/planted-key-123/v1",
    ],
)
def test_a_name_that_holds_a_key_is_refused_and_not_repeated(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", "planted-key-123")
    with pytest.raises(SettingsError, match="holds a key") as caught:
        AuthorSpec.parse(text)
    assert "planted" not in f"{caught.value}{caught.value.hint}"


def test_the_environment_offers_a_key_then_a_server_then_an_agent(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def now() -> tuple[str, str]:
        choice = chosen(settings)
        return " ".join(map(str, choice.specs)), choice.why

    assert chosen(settings) == AuthorChoice(())
    monkeypatch.setattr(authors.shutil, "which", lambda program: f"/bin/{program}" if program == "codex" else None)
    assert now() == ("command:codex", "the command codex")
    monkeypatch.setenv("OPENAI_MODEL", "qwen3")
    assert now()[0] == "command:codex", "a model without a server or a key"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:8000/v1")
    assert now() == ("openai:qwen3@http://127.0.0.1:8000/v1", "OPENAI_MODEL")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "x")
    assert now() == ("anthropic:claude-opus-5-5", "ANTHROPIC_API_KEY")
    own = settings.model_copy(update={"author": "claude-sonnet-5-5"})
    assert chosen(own).why == "the setting `author`"
    assert chosen(own, ["none"]) == AuthorChoice(())


def test_what_costs_money_needs_a_budget_that_kb_can_keep(settings: Settings) -> None:
    def refused(name: str, budget: Budget) -> bool:
        try:
            must_be_paid(seats_of(settings, [AuthorSpec.parse(name)]), budget)
        except SettingsError:
            return True
        return False

    dollars, tokens = Budget(dollars=1), Budget(tokens=1000)
    for priced in ("claude-opus-5-5", "anthropic:claude-sonnet-5-5@http://127.0.0.1:1"):
        assert (refused(priced, Budget()), refused(priced, dollars), refused(priced, tokens)) == (True, False, False)
    for unknown in ("openai:m@http://gpu/v1", "command:claude", "command:agent -x", "anthropic:m"):
        assert (refused(unknown, Budget()), refused(unknown, dollars), refused(unknown, tokens)) == (True, True, False)
    for free in ("openai:m@http://127.0.0.1:1/v1", "openai:m@http://localhost/v1", "files:a", "recorded:a"):
        assert not refused(free, Budget())


def test_the_most_that_a_run_may_cost_is_in_dollars_if_every_price_is_known(settings: Settings) -> None:
    priced, unknown = (seats_of(settings, [AuthorSpec.parse(name)]) for name in ("claude-opus-5-5", "command:agent"))

    assert most_for(settings, priced, 8) == Budget(dollars=8 * (64_000 * 5 + 16_000 * 20) / 1e6)
    assert most_for(settings, [*priced, *unknown], 8) == Budget(tokens=8 * 80_000)


def test_settings_that_are_judged_cost_no_request() -> None:
    assert [requests_for(evaluations) for evaluations in (None, 24, 8, 1)] == [8, 8, 3, 1]


@pytest.mark.parametrize(
    ("name", "own", "local"),
    [
        ("recorded:a", "", True),
        ("openai:m@http://127.0.0.2:1/v1", "", True),
        ("openai:m@http://[::1]:1/v1", "", True),
        ("openai:m@http://gpu:1/v1", "", False),
        ("openai:m@http://gpu:1/v1", "other, gpu", True),
        ("openai:m@http://127.0.0.1.example.com/v1", "", False),
        ("claude-opus-5-5", "", False),
        ("command:/opt/llama-cli -f x", "llama-cli", True),
        ("command:agent", "llama-cli", False),
        ("files:a", "", False),
        ("files:a", "files", True),
    ],
)
def test_an_author_is_local_on_loopback_or_if_the_user_says_so(
    name: str, own: str, local: bool, settings: Settings
) -> None:
    settings = settings.model_copy(update={"local_authors": own})
    assert AuthorSpec.parse(name).is_local(settings) is local


def test_a_table_in_the_home_gives_a_model_its_price(settings: Settings) -> None:
    table = "[model.m]\nprice = { input = 1, output = 2, cache_write = 1, cache_read = 1 }\n"
    (settings.home / "models.toml").write_text(table)

    [seat] = seats_of(settings, [AuthorSpec.parse("openai:m@http://127.0.0.1:1/v1")])

    assert (seat.free, seat.model.price is not None) == (False, True), "a proxy on loopback may cost money"
