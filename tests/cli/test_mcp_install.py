"""`kb mcp install` adds kb to a host's configuration and leaves all else there alone."""

import json
import shutil
import tomllib
from pathlib import Path

import pytest

from tests.cli.conftest import Run

HOSTS = {
    "claude-code": ".mcp.json",
    "cursor": ".cursor/mcp.json",
    "codex": "codex/config.toml",
    "gemini": ".gemini/settings.json",
    "vscode": ".vscode/mcp.json",
}
OTHERS = {
    "claude-code": '{"mcpServers": {"other": {"command": "other", "args": ["é"]}}, "more": [1, null]}',
    "cursor": '{"mcpServers": {"other": {"url": "https://example.org"}}}\n',
    "gemini": '{"theme": "dark", "mcpServers": {"other": {"command": "other"}}}',
    "vscode": '{"servers": {"other": {"type": "http", "url": "https://example.org"}}, "inputs": []}',
    "codex": 'model = "some"  # why\n\n[mcp_servers.other]\ncommand = "other"\n\n# the last\n[tui]\ntheme = "x"\n',
}
BROKEN = {
    "claude-code": "{ // comment\n}",
    "cursor": '{"mcpServers": [',
    "codex": "model = \n",
    "gemini": "{",
    "vscode": '{"servers": {}},',
}
UNLIKE = {
    "claude-code": '{"mcpServers": ["kb"]}',
    "cursor": '["kb"]',
    "codex": "mcp_servers = 3\n",
    "gemini": '{"mcpServers": 1}',
    "vscode": '{"servers": []}',
}


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder to work in, with the home of Codex in it."""
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    monkeypatch.setenv("CODEX_HOME", str(project / "codex"))
    return project


def servers(file: Path) -> dict[str, dict[str, object]]:
    text = file.read_text(encoding="utf-8")
    found = tomllib.loads(text) if file.suffix == ".toml" else json.loads(text)
    return next(value for name, value in found.items() if name in ("mcp_servers", "mcpServers", "servers"))


def given(file: Path, text: str) -> Path:
    file.parent.mkdir(exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


@pytest.mark.parametrize(("host", "name"), HOSTS.items())
def test_a_new_entry_names_the_command_and_the_current_home(
    run: Run, project: Path, home: Path, host: str, name: str
) -> None:
    assert run("mcp", "install", host).status == 0

    entry = servers(project / name)["kb"]
    assert (entry.pop("type", "stdio"), entry["args"], entry["env"]) == ("stdio", ["mcp"], {"KB_HOME": str(home)})
    assert Path(entry["command"]).is_absolute()
    assert shutil.which(entry["command"])


@pytest.mark.parametrize(("host", "name"), HOSTS.items())
def test_an_entry_names_the_folders_whose_tasks_agents_may_run(run: Run, project: Path, host: str, name: str) -> None:
    assert run("mcp", "install", host, "--tasks", "tasks", "--tasks", project / "more").status == 0

    folders = [str(project / folder) for folder in ("tasks", "more")]
    assert servers(project / name)["kb"]["args"] == ["mcp", "--tasks", folders[0], "--tasks", folders[1]]


@pytest.mark.parametrize(("host", "name"), HOSTS.items())
def test_the_rest_of_the_file_is_kept_and_a_second_install_changes_nothing(
    run: Run, project: Path, host: str, name: str
) -> None:
    file = given(project / name, OTHERS[host])
    file.chmod(0o640)
    before = servers(file)

    assert "kb is now in" in run("mcp", "install", host).out
    first = file.read_text(encoding="utf-8")
    assert "kb is already in" in run("mcp", "install", host).out

    after = servers(file)
    assert after.pop("kb")
    assert after == before
    assert file.read_text(encoding="utf-8") == first
    assert file.stat().st_mode & 0o777 == 0o640
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize(("host", "name"), HOSTS.items())
def test_the_entry_of_another_home_is_replaced(
    run: Run, project: Path, monkeypatch: pytest.MonkeyPatch, host: str, name: str
) -> None:
    given(project / name, OTHERS[host])
    run("mcp", "install", host)
    monkeypatch.setenv("KB_HOME", "/other")
    run("mcp", "install", host)

    assert servers(project / name)["kb"]["env"] == {"KB_HOME": "/other"}
    assert "other" in servers(project / name)


OF_A_USER = """\
model = "some"  # why

# seldom used
[mcp_servers.other]
command   =  'other'

[mcp_servers.other.env]
A = "b"

# the last
[tui]
theme = "x"
"""


@pytest.mark.parametrize(
    "own",
    [
        "",
        '[mcp_servers.kb]\ncommand = "old"\n\n[mcp_servers.kb.env]\nKB_HOME = "/old"\n\n',
        '[mcp_servers.kb]\ncommand = "old"\nargs = ["old"]\nenv = {}\n# slow\nstartup_timeout_sec = 2\n',
        'mcp_servers.kb.command = "old"  # dotted\n',
    ],
    ids=["none", "as Codex writes it", "with a setting", "dotted"],
)
@pytest.mark.parametrize("ends", ["\n", "\r\n"], ids=["unix", "windows"])
def test_an_entry_for_codex_keeps_comments_and_formatting(run: Run, project: Path, own: str, ends: str) -> None:
    file = given(project / HOSTS["codex"], "")
    model, _, tables = OF_A_USER.partition("\n\n")
    file.write_bytes(f"{model}\n{own}\n{tables}".replace("\n", ends).encode())
    before = servers(file)

    assert run("mcp", "install", "codex").status == 0

    text = file.read_bytes().decode()
    assert model + ends in text
    assert tables.replace("\n", ends) in text
    assert [line for line in own.splitlines() if line.startswith("#") and line not in text] == []
    assert "old" not in text
    after = servers(file)
    assert sorted(after.pop("kb")) == ["args", "command", "env"]
    assert after == {name: entry for name, entry in before.items() if name != "kb"}


@pytest.mark.parametrize(
    "text", ['mcp_servers = { other = { command = "other" } }  # why\n', 'mcp_servers = { kb = { command = "old" } }\n']
)
def test_codex_servers_on_one_line_stay_on_one_line(run: Run, project: Path, text: str) -> None:
    file = given(project / HOSTS["codex"], text)
    before = servers(file)

    assert run("mcp", "install", "codex").status == 0

    assert file.read_text(encoding="utf-8").count("\n") == 1
    assert servers(file)["kb"]["args"] == ["mcp"]
    assert {**servers(file), "kb": before.get("kb")} == {"kb": None, **before}


@pytest.mark.parametrize(("host", "name"), HOSTS.items())
@pytest.mark.parametrize("texts", [BROKEN, UNLIKE], ids=["broken", "unlike"])
def test_a_file_that_cannot_be_understood_is_left_as_it_was(
    run: Run, project: Path, texts: dict[str, str], host: str, name: str
) -> None:
    file = given(project / name, texts[host])

    message, hint = run("mcp", "install", host).refusal

    assert str(file) in message
    assert "nothing was written" in hint
    assert file.read_text(encoding="utf-8") == texts[host]
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize(("host", "name"), HOSTS.items())
def test_print_shows_the_entry_and_writes_nothing(run: Run, project: Path, home: Path, host: str, name: str) -> None:
    shown = run("mcp", "install", host, "--print")

    assert str(project / name) in shown.err
    parsed = tomllib.loads(shown.out) if host == "codex" else json.loads(shown.out)
    (entries,) = parsed.values()
    assert entries["kb"]["env"] == {"KB_HOME": str(home)}
    assert list(project.rglob("*")) == []


def test_a_link_stays_a_link(run: Run, project: Path, tmp_path: Path) -> None:
    real = given(tmp_path / "dotfiles" / "mcp.json", "{}")
    (project / ".mcp.json").symlink_to(real)

    assert run("mcp", "install", "claude-code").status == 0

    assert (project / ".mcp.json").is_symlink()
    assert servers(real)["kb"]


@pytest.mark.parametrize(("host", "name"), HOSTS.items())
def test_special_characters_in_the_name_of_the_home_survive(
    run: Run, project: Path, monkeypatch: pytest.MonkeyPatch, host: str, name: str
) -> None:
    odd = '/a "quoted" \\ folder\x7fé'
    monkeypatch.setenv("KB_HOME", odd)

    assert run("mcp", "install", host).status == 0
    assert servers(project / name)["kb"]["env"] == {"KB_HOME": odd}


def test_another_host_is_wrong_usage(run: Run) -> None:
    assert run("mcp", "install", "emacs").status == 2
