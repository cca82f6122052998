"""Adds `kb mcp` to the configuration of an agent's host and keeps the rest of the file."""

import json
import os
import shutil
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, Self

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import InlineTable

from kb.errors import SettingsError
from kb.storage import write_whole

Host = Literal["claude-code", "codex", "cursor", "gemini", "vscode"]
NAME = "kb"
BY_HAND = "nothing was written; correct the file, or add the entry that `kb mcp install HOST --print` shows by hand"


@dataclass(frozen=True, slots=True)
class ServerEntry:
    """The command that a host starts. It names the home, because hosts pass on little of their environment."""

    command: str
    args: list[str]
    env: dict[str, str]

    @classmethod
    def of(cls, home: Path, tasks: Sequence[Path] = ()) -> Self:
        """An entry for this kb, `home` and folders of `tasks`. Raises SettingsError if there is no `kb` command."""
        command = shutil.which("kb", path=str(Path(sys.executable).parent)) or shutil.which("kb")
        if command is None:
            raise SettingsError("there is no `kb` command for a host to start", hint="run `pip install kb-hardware`")
        folders = [part for folder in tasks for part in ("--tasks", str(folder.resolve()))]
        return cls(command=command, args=["mcp", *folders], env={"KB_HOME": str(home)})


@dataclass(frozen=True, slots=True)
class ConfigFile(ABC):
    path: Path

    @abstractmethod
    def with_entry(self, before: str, entry: ServerEntry) -> str:
        """The text `before` with kb's entry added. Raises SettingsError if the text has another format."""

    def add(self, entry: ServerEntry) -> bool:
        """Add or correct kb's entry, and return whether the file changed.

        Raises:
            SettingsError: the file cannot be read or written, or has another format; it is not changed.
        """
        try:
            before = self.path.read_bytes().decode() if self.path.exists() else ""
            after = self.with_entry(before, entry)
            if after != before:
                write_whole(self.path, after)
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(f"cannot change {self.path}: {error}", hint=BY_HAND) from error
        return after != before


@dataclass(frozen=True, slots=True)
class JsonFile(ConfigFile):
    key: str = "mcpServers"
    """Name of the object that holds the servers."""

    def with_entry(self, before: str, entry: ServerEntry) -> str:
        try:
            config = json.loads(before) if before.strip() else {}
        except ValueError as error:
            raise SettingsError(f"{self.path} is not valid JSON: {error}", hint=BY_HAND) from error
        servers = config.setdefault(self.key, {}) if isinstance(config, dict) else None
        if not isinstance(servers, dict):
            raise SettingsError(f"`{self.key}` in {self.path} is not an object", hint=BY_HAND)
        wanted = {"type": "stdio", **asdict(entry)}
        if servers.get(NAME) == wanted:
            return before
        servers[NAME] = wanted
        return json.dumps(config, indent=2, ensure_ascii=False) + "\n"


class CodexFile(ConfigFile):
    def with_entry(self, before: str, entry: ServerEntry) -> str:
        try:
            config = tomlkit.parse(before)
            servers = config.get("mcp_servers", {})
            held = servers.get(NAME, {}) if isinstance(servers, MutableMapping) else None
        except TOMLKitError as error:
            raise SettingsError(f"{self.path} is not valid TOML: {error}", hint=BY_HAND) from error
        if not isinstance(held, MutableMapping):
            raise SettingsError(f"`mcp_servers` in {self.path} is not a table of tables", hint=BY_HAND)
        wanted = {**asdict(entry), "env": tomlkit.inline_table() | entry.env}
        if NAME in servers:
            _make_equal(held, wanted)
        elif isinstance(servers, InlineTable):
            servers[NAME] = wanted
        else:  # at the end of the file: after its siblings it would take over the comment above the next table
            config.append("mcp_servers", tomlkit.table(is_super_table=True).append(NAME, wanted))
        return tomlkit.dumps(config)


def config_file(host: Host) -> ConfigFile:
    """The configuration of a host: in the current folder, or in Codex's own home."""
    here = Path.cwd()
    known = {
        "claude-code": JsonFile(here / ".mcp.json"),
        "cursor": JsonFile(here / ".cursor" / "mcp.json"),
        "gemini": JsonFile(here / ".gemini" / "settings.json"),
        "vscode": JsonFile(here / ".vscode" / "mcp.json", key="servers"),
    }
    return known.get(host) or CodexFile(Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex") / "config.toml")


def _make_equal(table: MutableMapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Change only the keys that differ, so that comments between them stay."""
    for key in table.keys() - wanted.keys():
        del table[key]
    for key, value in wanted.items():
        if isinstance(held := table.get(key), MutableMapping) and isinstance(value, Mapping):
            _make_equal(held, value)
        elif held != value:
            table[key] = value
