"""Settings: the environment beats kb.toml, kb.toml beats the default; a mistake is named with its remedy."""

from pathlib import Path

import platformdirs
import pytest

from kb.errors import SettingsError
from kb.settings import DEFAULT_MODEL, Settings, find_home

VARIABLES = ("KB_HOME", "KB_EMBEDDING_MODEL", "KB_LEXICAL_WEIGHT", "KB_BUDGET_TOKENS")


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    home.mkdir()


@pytest.fixture
def away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory three folders deep, with a user data directory elsewhere."""
    here = tmp_path / "a" / "b" / "c"
    here.mkdir(parents=True)
    monkeypatch.chdir(here)
    monkeypatch.setattr(platformdirs, "user_data_dir", lambda *_, **__: str(tmp_path / "user-data"))
    return tmp_path


def write(home: Path, text: str) -> None:
    (home / "kb.toml").write_text(text, encoding="utf-8")


def test_without_a_file_and_without_variables_the_defaults_hold(home: Path) -> None:
    settings = Settings.load(home)

    assert settings == Settings(home=home, embedding_model=DEFAULT_MODEL, lexical_weight=0.7, budget_tokens=4000)


def test_the_file_beats_the_default(home: Path) -> None:
    write(home, 'budget_tokens = 900\nembedding_model = "none"\n')

    settings = Settings.load(home)

    assert (settings.budget_tokens, settings.embedding_model, settings.lexical_weight) == (900, "none", 0.7)


def test_a_variable_beats_the_file_and_leaves_its_other_settings_alone(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(home, "budget_tokens = 900\nlexical_weight = 0.25\n")
    monkeypatch.setenv("KB_BUDGET_TOKENS", "1234")

    settings = Settings.load(home)

    assert (settings.budget_tokens, settings.lexical_weight) == (1234, 0.25)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("budget = 900", "budget"),
        ("budget_tokens = 0", "budget_tokens"),
        ('budget_tokens = "many"', "budget_tokens"),
        ("lexical_weight = 1.5", "lexical_weight"),
        ("lexical_weight = -0.1", "lexical_weight"),
        ("embedding_model = 7", "embedding_model"),
        ("[embedding_model]\nname = 'x'", "embedding_model"),
        ("budget_tokens = ", "kb.toml"),
        ("budget_tokens = 1\nbudget_tokens = 2", "kb.toml"),
    ],
)
def test_a_mistake_in_the_file_is_named_with_the_file_to_correct(home: Path, text: str, named: str) -> None:
    write(home, text)

    with pytest.raises(SettingsError) as caught:
        Settings.load(home)

    assert named in caught.value.message
    assert "correct" in caught.value.hint


@pytest.mark.parametrize("content", [b"\xff\xfe", b"a = \x00"])
def test_a_file_that_is_no_text_is_named(home: Path, content: bytes) -> None:
    (home / "kb.toml").write_bytes(content)

    with pytest.raises(SettingsError, match=r"kb\.toml"):
        Settings.load(home)


@pytest.mark.parametrize(
    ("name", "value"), [("KB_BUDGET_TOKENS", "ten"), ("KB_LEXICAL_WEIGHT", "2"), ("KB_BUDGET_TOKENS", "")]
)
def test_a_mistake_in_a_variable_is_named_with_the_variable(
    home: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)

    with pytest.raises(SettingsError) as caught:
        Settings.load(home)

    assert name in caught.value.hint
    assert repr(value) in caught.value.message


def test_an_unknown_setting_is_answered_with_the_known_ones(home: Path) -> None:
    write(home, "lexical_wieght = 0.5")

    with pytest.raises(SettingsError) as caught:
        Settings.load(home)

    assert "lexical_weight" in caught.value.hint


def test_kb_home_comes_first(away: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (away / "a" / "b" / "c" / ".kb").mkdir()
    monkeypatch.setenv("KB_HOME", str(away / "named"))

    assert find_home() == away / "named"


def test_an_empty_kb_home_counts_as_unset(away: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (away / "a" / ".kb").mkdir()
    monkeypatch.setenv("KB_HOME", "")

    assert find_home() == away / "a" / ".kb"


def test_the_nearest_kb_folder_upwards_comes_second(away: Path) -> None:
    (away / ".kb").mkdir()
    (away / "a" / "b" / ".kb").mkdir()

    assert find_home() == away / "a" / "b" / ".kb"


def test_a_file_called_kb_is_no_home(away: Path) -> None:
    (away / "a" / "b" / ".kb").write_text("", encoding="utf-8")
    (away / "a" / ".kb").mkdir()

    assert find_home() == away / "a" / ".kb"


@pytest.mark.usefixtures("away")
def test_the_user_data_folder_comes_last(tmp_path: Path) -> None:
    assert find_home() == tmp_path / "user-data"


def test_a_tilde_in_the_home_stands_for_the_users_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))

    assert Settings.load(Path("~/knowledge")).home == tmp_path / "knowledge"


def test_settings_of_earlier_versions_may_stay_in_the_file(home: Path) -> None:
    write(home, 'reranker_model = "none"\nreranker_seconds = 1.0\nbudget_tokens = 900\n')

    assert Settings.load(home).budget_tokens == 900
