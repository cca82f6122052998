"""A cited knowledge base for kernel authors. `kb.open()` gives the library what the command line has."""

from importlib.metadata import version as _version
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kb.session import KnowledgeBase

__all__ = ["__version__", "open"]

__version__ = _version("kb-hardware")


def open(home: Path | str | None = None) -> "KnowledgeBase":  # noqa: A001 - `kb.open` is what a reader expects
    """Open the knowledge base in `home`, by default the one the command line would use.

    Raises:
        SettingsError: a setting is wrong.
        StoreError: the home cannot be opened.
    """
    from kb.session import KnowledgeBase
    from kb.settings import Settings

    return KnowledgeBase(Settings.load(Path(home) if home is not None else None))
