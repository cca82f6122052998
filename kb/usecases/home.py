"""An open home: its stores, and the parts that use cases work with, each made when it is first needed."""

from __future__ import annotations

import sys
from functools import cached_property
from typing import TYPE_CHECKING, Self

from kb.catalog import Catalog
from kb.settings import NO_MODEL
from kb.targets import Targets

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from kb.facts.book import FactBook
    from kb.runs.journal import Runs
    from kb.settings import Settings
    from kb.skillbook.library import Skillbook
    from kb.types.embedding import Embedder
    from kb.types.passages import Passage
    from kb.usecases.documents import Documents
    from kb.usecases.toolchains import Toolchains
    from retrieval.models import Models
    from retrieval.search import SearchEngine


MOST_FOUND = 2000
"""Questions whose passages an open home keeps."""


class Home:
    """Use it as a context manager, or call `close()`.

    Args:
        settings: Settings of the home to open.
        notify: Called with each message for the user, such as a missing model.
        embedder: Replaces the model of the settings.
        without_private: Whether private documents, and what they state, cannot be read.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        notify: Callable[[str], None] = lambda message: None,
        embedder: Embedder | None = None,
        without_private: bool = False,
    ) -> None:
        self.settings = settings
        self.targets = Targets.load(settings.home)
        self.catalog = Catalog(settings.home, without_private=without_private)
        self.notify = notify
        self._given_embedder = embedder
        self._without_private = without_private
        self._found: tuple[object, dict[Hashable, list[Passage]]] = None, {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        for name in ("public", "whole"):
            if (other := self.__dict__.get(name)) and other is not self:
                other.close()
        self.catalog.close()

    @cached_property
    def public(self) -> Self:
        """The same home as it is opened to whom private documents must not reach."""
        embedder = self.models.embedder
        settings = self.settings if embedder else self.settings.model_copy(update={"embedding_model": NO_MODEL})
        return type(self)(settings, notify=self.notify, embedder=embedder, without_private=True)

    @cached_property
    def whole(self) -> Self:
        """The same home with its private documents, by which kb recognises what repeats private text; it shows none."""
        if not (self._without_private and self.catalog.held_back(None)):
            return self
        settings = self.settings.model_copy(update={"embedding_model": NO_MODEL})
        return type(self)(settings, notify=self.notify)

    @cached_property
    def models(self) -> Models:
        """The embedding model and the vectors."""
        from retrieval.models import Models

        settings = self.settings
        if self._without_private:  # Chroma's index holds the passages of all documents, so each vector is compared
            settings = settings.model_copy(update={"exact_vectors": sys.maxsize})
        return Models(self.catalog, settings, notify=self.notify, embedder=self._given_embedder)

    @property
    def search_engine(self) -> SearchEngine:
        from retrieval.search import SearchEngine

        return SearchEngine(self.catalog, self.targets, self.models)

    def found(self, asked: Hashable, find: Callable[[], list[Passage]]) -> list[Passage]:
        """The passages that a prompt finds. They are kept until the catalog changes, because the next asks the same."""
        revision, kept = self._found
        if revision != self.catalog.revision or len(kept) >= MOST_FOUND:
            revision, kept = self._found = self.catalog.revision, {}
        if asked not in kept:
            kept[asked] = find()
        return kept[asked]

    @property
    def documents(self) -> Documents:
        from kb.usecases.documents import Documents

        return Documents(self.catalog, self.targets, publish=lambda: self.models.publish_index())

    @property
    def factbook(self) -> FactBook:
        """The standings of facts, and the user's decisions about them."""
        from kb.facts.book import FactBook

        return FactBook(self.catalog, self.targets)

    @cached_property
    def skills(self) -> Skillbook:
        from eval.machine import versions
        from kb.skillbook.library import Skillbook

        return Skillbook(
            self.settings.home,
            name_of=lambda name: self.targets.name_of(name),
            versions=versions,
            stands=lambda citation: self.documents.stands(citation),
            licence=self.settings.skill_licence,
            hidden=lambda: self.catalog.unseen_ids() if self._without_private else frozenset(),
        )

    @cached_property
    def toolchains(self) -> Toolchains:
        from kb.usecases.toolchains import Toolchains

        return Toolchains(self.settings.home, self.targets)

    @cached_property
    def runs(self) -> Runs:
        from kb.runs.journal import Runs

        return Runs(self.settings.home)
