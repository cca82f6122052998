"""The use cases about documents, as methods of an open home."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kb.usecases.home import Home

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from kb.types.documents import IngestReport, Progress
    from kb.types.passages import CitedPlace, Context, SearchFilter, SearchResult
    from kb.types.records import Trust
    from kb.types.symbols import SymbolReport
    from kb.usecases.target_tree import TargetTree

DEFAULT_HITS = 5
DEFAULT_PLACES = 15


class AboutDocuments(Home):
    """Ingest, search and quote documents."""

    def ingest(
        self,
        paths: Sequence[Path | str],
        *,
        target: str | None = None,
        parent: str | None = None,
        trust: Trust | None = None,
        private: bool | None = None,
        hidden: bool = False,
        unknown: bool = False,
        exclude: Sequence[str] = (),
        dry_run: bool = False,
        progress: Callable[[Progress], None] = lambda progress: None,
    ) -> IngestReport:
        """Update the catalog to match files, folders and archives, embed all passages, and publish the vector index.

        Lexical search finds each document once it is read; vector search comes last.

        Args:
            target: Target of all documents, which is added if it is unknown (default: the folder names tell it).
            parent: Parent of targets that are added (default: `any`).
            trust: Trust of all documents (default: unchanged, `vendor` for new documents).
            private: Whether the documents must not leave the user's machines: no hosted author gets any of them
                (default: unchanged; a new file is private if another in its folder or above is).
            hidden: Also read files and folders whose names begin with a dot.
            unknown: Also read files of unknown formats, as plain text.
            exclude: Patterns of files to skip, in the form of .gitignore, besides those of `.kbignore` files.
            dry_run: Report what would be done; write nothing.
            progress: Called for each file that was read and for each batch of passages that got vectors.

        Raises:
            SourceError, TargetError: a path cannot be used, or no target can be told; nothing was changed.
            StoreError: the home cannot be written, is full, or another process is writing it.
            IngestInterrupted: a KeyboardInterrupt, with the report so far.
        """
        from ingest.pipeline import Ingest
        from kb.usecases.ingesting import ingest

        options = trust, hidden, unknown, dry_run, progress, exclude, parent, private
        work = Ingest(self.catalog, self.targets, self.models.embedder, *options)
        return ingest(self, work, paths, target=target)

    @property
    def target_tree(self) -> TargetTree:
        """The targets with their documents, and the changes that a user can make to them."""
        from kb.usecases.target_tree import TargetTree

        return TargetTree(self)

    def search(
        self,
        question: str | Sequence[str],
        *,
        target: str | None = None,
        compare: bool = False,
        only: SearchFilter | None = None,
        limit: int = DEFAULT_HITS,
    ) -> SearchResult:
        """The best passages for a question.

        Args:
            question: One phrasing or several; several (the vendor's words, keywords) find more.
            target: Search the documents of this target, its ancestors and its descendants (default: all documents).
                If the target is a family and the question names some of its chips, search only those.
            compare: Also search the target's siblings. Each hit names its target.
            only: Limits the search further (default: not).

        Returns:
            At most `limit` hits, the first ones with their surroundings. A phrasing that names something that no
            document in scope mentions gets a note; if all do, the status is `insufficient`.

        Raises:
            QueryError: there is no word to search for.
            TargetError, DocumentError: `target` or a name in `only` is unknown.
            StoreError: the home has no document of the target, and cannot get the sheets that ship with kb.
        """
        from kb.usecases.searching import asked

        found = asked(self, question, target=target, compare=compare, only=only)
        return self.search_engine.search(*found, limit=limit)

    def answers(
        self,
        question: str | Sequence[str],
        *,
        target: str | None = None,
        compare: bool = False,
        only: SearchFilter | None = None,
        page: int = 1,
    ) -> SearchResult:
        """The lines that answer a question, likeliest first, in pages counted from 1. Otherwise as `search`."""
        from kb.usecases.searching import asked

        found = asked(self, question, target=target, compare=compare, only=only)
        return self.search_engine.answers(*found, page=page)

    def context(
        self,
        question: str | Sequence[str],
        *,
        target: str | None = None,
        compare: bool = False,
        only: SearchFilter | None = None,
        budget_tokens: int | None = None,
    ) -> Context:
        """The passages for a question packed into a token budget. Arguments and errors as in `search`."""
        from kb.usecases.searching import asked

        budget_tokens = budget_tokens or self.settings.budget_tokens
        found = asked(self, question, target=target, compare=compare, only=only)
        return self.search_engine.context(*found, budget_tokens=budget_tokens)

    def symbol(self, name: str, *, target: str | None = None, limit: int = DEFAULT_PLACES) -> SymbolReport:
        """Where documents define, list, call and mention an identifier; see `retrieval.symbols.lookup.look_up`."""
        from kb.usecases.sheets import ensure_sheets
        from retrieval.symbols.lookup import look_up

        if target and (missing := ensure_sheets(self, target)):
            self.notify(missing.message)
        return look_up(self.catalog, self.targets, name, target=target, limit=limit)

    def cite(self, citation_id: str) -> CitedPlace:
        """See `Documents.cite`."""
        return self.documents.cite(citation_id)
