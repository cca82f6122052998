"""How a host of agents is told to start `kb mcp`: one entry in its configuration, all else in that file kept."""

import json
import os
import shutil
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, MutableMapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, Self

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import InlineTable

from kb.errors import SettingsError
from kb.storage import write_whole

Host = Literal["claude-code", "codex", "cursor"]
NAME = "kb"


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
            before = self.path.read_bytes().decode() if self.path.exists() else ""
            after = self.with_entry(before, entry)
            if after != before:
                write_whole(self.path, after)
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
    def with_entry(self, before: str, entry: ServerEntry) -> str:
        try:
            config = tomlkit.parse(before)
            servers = config.get("mcp_servers", {})
            held = servers.get(NAME, {}) if isinstance(servers, MutableMapping) else None
        except TOMLKitError as error:
            raise SettingsError(f"{self.path} cannot be read as TOML: {error}", hint=self._by_hand()) from error
        if not isinstance(held, MutableMapping):
            raise SettingsError(f"{self.path} holds no tables of `mcp_servers`", hint=self._by_hand())
        wanted = {**asdict(entry), "env": tomlkit.inline_table() | entry.env}
        if NAME in servers:
            _make_equal(held, wanted)
        elif isinstance(servers, InlineTable):
            servers[NAME] = wanted
        else:  # at the end of the file: next to its siblings it would take the comment above the table after them
            config.append("mcp_servers", tomlkit.table(is_super_table=True).append(NAME, wanted))
        return tomlkit.dumps(config)


def config_file(host: Host) -> ConfigFile:
    """Where a host looks: the first and the last in the project's folder, Codex in its own home."""
    if host == "claude-code":
        return JsonFile(Path.cwd() / ".mcp.json")
    if host == "cursor":
        return JsonFile(Path.cwd() / ".cursor" / "mcp.json")
    return CodexFile(Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex") / "config.toml")


def _make_equal(table: MutableMapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Change what differs, one key at a time: the comments between them stay."""
    for key in table.keys() - wanted.keys():
        del table[key]
    for key, value in wanted.items():
        if isinstance(held := table.get(key), MutableMapping) and isinstance(value, Mapping):
            _make_equal(held, value)
        elif held != value:
            table[key] = value
