"""How a host of agents is told to start `kb mcp`: one entry in its configuration, all else in that file kept."""

import json
import os
import re
import shlex
import shutil
import sys
import tempfile
import tomllib
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, Self

from kb.errors import SettingsError

Host = Literal["claude-code", "codex", "cursor"]
NAME = "kb"
_CODEX_TABLE = re.compile(rf"^\[mcp_servers\.{NAME}(\..*)?\].*\n((?![ \t]*[\[#]).*\n?)*", re.MULTILINE)
"""The table of kb and those below it, up to the next table or comment."""


@dataclass(frozen=True, slots=True)
class ServerEntry:
    """What a host starts. Hosts pass little of their environment on, so the home is named."""

    command: str
    args: list[str]
    env: dict[str, str]

    @classmethod
    def of(cls, home: Path) -> Self:
        """The kb that runs now, on `home`.

        Raises:
            SettingsError: the `kb` command is not installed.
        """
        # Not the first on the path: the kb of this environment.
        command = shutil.which("kb", path=str(Path(sys.executable).parent)) or shutil.which("kb")
        if command is None:
            raise SettingsError("there is no `kb` command for a host to start", hint="`pip install` kb")
        return cls(command=command, args=["mcp"], env={"KB_HOME": str(home)})


@dataclass(frozen=True, slots=True)
class ConfigFile(ABC):
    path: Path

    @abstractmethod
    def with_entry(self, before: str, entry: ServerEntry) -> str:
        """The text `before` with kb's entry in it.

        Raises:
            SettingsError: the text is not what such a file holds.
        """

    def add(self, entry: ServerEntry) -> bool:
        """Put the entry there, or that of another kb right, and say whether the file changed.

        Raises:
            SettingsError: the file cannot be read or written, or is not what it should be; it is as it was then.
        """
        try:
            before = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
            after = self.with_entry(before, entry)
            if after != before:
                _write(self.path.resolve(), after)  # not in place of a link
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(f"{self.path} cannot be changed: {error}", hint=self._by_hand()) from error
        return after != before

    def _by_hand(self) -> str:
        return "correct the file, or add by hand what `kb mcp install HOST --print` shows; nothing was written"


class JsonFile(ConfigFile):
    def with_entry(self, before: str, entry: ServerEntry) -> str:
        try:
            config = json.loads(before) if before.strip() else {}
        except ValueError as error:
            raise SettingsError(f"{self.path} is not valid JSON: {error}", hint=self._by_hand()) from error
        servers = config.setdefault("mcpServers", {}) if isinstance(config, dict) else None
        if not isinstance(servers, dict):
            raise SettingsError(f"{self.path} holds no object of `mcpServers`", hint=self._by_hand())
        wanted = {"type": "stdio", **asdict(entry)}
        if servers.get(NAME) == wanted:
            return before
        servers[NAME] = wanted
        return json.dumps(config, indent=2, ensure_ascii=False) + "\n"


class CodexFile(ConfigFile):
    """TOML, which the standard library reads and does not write: kb's table is changed as text, and then read back."""

    def with_entry(self, before: str, entry: ServerEntry) -> str:
        config = self._parse(before)
        servers = config.setdefault("mcp_servers", {})
        if isinstance(servers, dict) and servers.get(NAME) == asdict(entry):
            return before
        kept = _CODEX_TABLE.sub("", before).rstrip()
        after = f"{kept}\n\n{_table(entry)}".lstrip()
        expected = {**config, "mcp_servers": {**servers, NAME: asdict(entry)}} if isinstance(servers, dict) else None
        try:
            understood = tomllib.loads(after) == expected
        except tomllib.TOMLDecodeError:
            understood = False
        if not understood:
            words = ["codex", "mcp", "add", NAME, "--env", *(f"{k}={v}" for k, v in entry.env.items()), "--"]
            raise SettingsError(
                f"{self.path} is written in a way that kb does not change",
                hint=f"`{shlex.join([*words, entry.command, *entry.args])}` does; nothing was written",
            )
        return after

    def _parse(self, text: str) -> dict[str, Any]:
        try:
            return tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise SettingsError(f"{self.path} is not valid TOML: {error}", hint=self._by_hand()) from error


def config_file(host: Host) -> ConfigFile:
    """Where a host looks: the first and the last in the project's folder, Codex in its own home."""
    if host == "claude-code":
        return JsonFile(Path.cwd() / ".mcp.json")
    if host == "cursor":
        return JsonFile(Path.cwd() / ".cursor" / "mcp.json")
    return CodexFile(Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex") / "config.toml")


def _table(entry: ServerEntry) -> str:
    env = ", ".join(f"{name} = {_quoted(value)}" for name, value in entry.env.items())
    args = ", ".join(map(_quoted, entry.args))
    return f"[mcp_servers.{NAME}]\ncommand = {_quoted(entry.command)}\nargs = [{args}]\nenv = {{ {env} }}\n"


def _quoted(text: str) -> str:
    """As in JSON, but for DEL and without surrogate pairs."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _write(path: Path, text: str) -> None:
    """Whole or not at all, with the permissions that the file had."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, delete=False) as staged:
        staged.write(text)
        staged.flush()
        os.fsync(staged.fileno())
    try:
        Path(staged.name).chmod(path.stat().st_mode if path.exists() else 0o644)
        Path(staged.name).replace(path)
    except OSError:
        Path(staged.name).unlink(missing_ok=True)
        raise
