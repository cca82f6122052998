"""The settings of a home, and the folders that kb uses."""

import os
import tomllib
from pathlib import Path
from typing import Any, Self

import platformdirs
from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from kb.errors import SettingsError

DEFAULT_MODEL = "all-MiniLM-L6-v2"
NO_MODEL = "none"
FORMER = ("signing_key", "reranker_model", "reranker_seconds", "profile", "anthropic_model")
"""Settings of earlier versions, which a kb.toml may still have."""


class Settings(BaseSettings):
    """Settings of one home. `KB_<NAME>` in the environment wins over `kb.toml` in the home."""

    model_config = SettingsConfigDict(env_prefix="KB_", frozen=True, extra="forbid", use_attribute_docstrings=True)

    home: Path
    """Folder of the catalog, the index, the skills and the runs."""
    embedding_model: str = DEFAULT_MODEL
    """A sentence-transformers model: a name, a folder, or `none` for lexical search alone."""
    lexical_weight: float = Field(default=0.7, ge=0, le=1)
    """Weight of the lexical score in the fusion; the dense score has the rest."""
    exact_vectors: int = Field(default=100_000, ge=0)
    """Most vectors that a search compares one by one; a larger home uses a Chroma index for searches of all targets."""
    chroma_url: str = ""
    """A Chroma server that holds this index, and then gets vectors; empty: the index is in the home."""
    budget_tokens: int = Field(default=4000, gt=0)
    """Default size of a packed context, in tokens."""
    prompt_tokens: int = Field(default=6000, gt=0)
    """Most tokens of a prompt for a kernel, beside the task's source and the kernels that it shows."""
    judge_stays_s: int = Field(default=600, ge=0)
    """For how long a judge waits for the next command with the same task and target; 0: it ends with the command."""
    author: str = ""
    """Who writes kernels and proposes facts, as for `kb optimize --author`; empty: chosen from the environment."""
    local_authors: str = ""
    """Hosts, commands or kinds of authors that run on your own machines, with commas: they cost nothing and may read
    private documents, as servers on loopback may."""
    task_folders: tuple[Path, ...] = ()
    """Folders whose tasks agents may have run and judged. A task's file is code that runs on this machine."""
    skill_licence: str = ""
    """Licence of the skills that runs write, by its name at spdx.org/licenses; a changed one keeps its own."""

    def is_own(self, *names: str) -> bool:
        """Whether `local_authors` has one of these names."""
        return not {name.strip() for name in self.local_authors.split(",")}.isdisjoint(set(names) - {""})

    @classmethod
    def load(cls, home: Path | None = None) -> Self:
        """The settings of `home` (default: the home that `find_home` finds).

        Raises:
            SettingsError: kb.toml or a KB_* variable is not valid.
        """
        home = (home or find_home()).expanduser().resolve()
        try:
            # The environment must win over the file, but pydantic prefers arguments: leave out those it sets.
            ignored = {*FORMER, *(name for name in cls.model_fields if f"KB_{name.upper()}" in os.environ)}
            file = {name: value for name, value in _read_toml(home / "kb.toml").items() if name not in ignored}
            return cls(**{**file, "home": home})
        except ValidationError as error:
            problem = error.errors()[0]
            name = ".".join(map(str, problem["loc"]))
            raise SettingsError(
                f"setting {name!r}: {problem['msg']} (got {problem['input']!r})",
                hint=f"correct it in {home / 'kb.toml'} or in KB_{name.upper()}; known: {', '.join(cls.model_fields)}",
            ) from error


def find_home() -> Path:
    """`$KB_HOME`, else a `.kb` folder in the working directory or above it, else the user's data folder."""
    if named := os.environ.get("KB_HOME"):
        return Path(named)
    here = Path.cwd()
    found = next((d / ".kb" for d in (here, *here.parents) if (d / ".kb").is_dir()), None)
    return found or Path(platformdirs.user_data_dir("kb", appauthor=False))


def cache_dir() -> Path:
    """The folder for data that kb can rebuild, shared by all homes: compiled embedding models, kernels, interfaces of
    tasks."""
    return Path(platformdirs.user_cache_dir("kb", appauthor=False))


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"cannot read {path}: {error}", hint="correct the file or remove it") from error
