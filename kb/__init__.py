"""A cited knowledge base for kernel authors. `kb.open()` returns it for use from Python."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kb.usecases.knowledge_base import KnowledgeBase

__all__ = ["__version__", "open"]


def __getattr__(name: str) -> str:
    """Look up `__version__` on demand, because parts of kb also run from a source tree that is not installed."""
    if name == "__version__":
        from importlib.metadata import version

        return version("kb-hardware")
    raise AttributeError(name)


def open(home: Path | str | None = None) -> "KnowledgeBase":  # noqa: A001 - `kb.open` is what a reader expects
    """Open the knowledge base in `home` (default: the home that the command line uses).

    Raises:
        SettingsError: a setting is wrong.
        StoreError: the home cannot be opened.
    """
    from kb.settings import Settings
    from kb.usecases.knowledge_base import KnowledgeBase

    return KnowledgeBase(Settings.load(Path(home) if home is not None else None))
