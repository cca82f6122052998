"""Marks passages that use what newer documents no longer have."""

import re
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath as PurePath

from kb.catalog import Catalog
from kb.catalog.symbols import NamingDocument, fenced
from kb.catalog.words import is_identifier
from kb.types.edition import edition_folder
from kb.types.passages import Passage
from retrieval.symbols.agreement import Agreement, Use, is_newer, label, outdated_call
from retrieval.symbols.occurrences import occurrences

PASSAGES_READ = 20
"""Passages in which the signature of a called name is sought, those with the name in the heading first."""
NAMES_READ = 6
"""Most names of a passage that are looked up."""
MARKS_SHOWN = 2
"""Most marks of a passage."""

_CALLED = re.compile(r"(?<![\w@#])([A-Za-z_]\w{2,})\(")
_DEFINED = re.compile(r"\b(?:def|fn|func|void|class|struct|auto)\s+(\w+)")


class Staleness:
    """Finds the names in passages that newer documents lack. What documents say of a name is read once."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._statements: dict[tuple[str, str], list[Use]] = {}
        self._editions = catalog.editions()

    def marked(self, passage: Passage) -> Passage:
        """The passage with the names and keywords in it that newer documents no longer have."""
        document = self._document(passage)
        marks = [*self._signatures(document), *self._names(document)]
        return passage.model_copy(update={"stale": tuple(dict.fromkeys(marks))[:MARKS_SHOWN]}) if marks else passage

    def _document(self, passage: Passage) -> NamingDocument:
        path = passage.citation.path
        version = next((v for p, t, v in self._editions if p == path and t == passage.target), "")
        heading = f"# {passage.citation.section[-1]}\n\n" if passage.citation.section else ""
        return _document(path, passage.target, version, heading + fenced(passage.text, passage.kind))

    def _signatures(self, document: NamingDocument) -> Iterator[str]:
        """Calls with keywords that no newest signature has, and signatures that differ from a newer one."""
        for name in _first(m[1] for m in _CALLED.finditer(document.text)):
            own = [Use(document, one) for one in occurrences(document.text, name) if one.keywords or one.signature]
            agreement = Agreement(name, [*self._stated(name, document.target), *own] if own else [])
            for use in own:
                if unknown := agreement.unknown_keywords(use):
                    yield outdated_call(name, *unknown)
                elif newer := agreement.newer_signature(use):
                    yield f"{label(newer[0].document)} has {agreement.stated(newer[1])}"

    def _stated(self, name: str, target: str) -> list[Use]:
        if (name, target) not in self._statements:
            found = self._catalog.passages_naming(name, targets=[target], limit=PASSAGES_READ)
            self._statements[name, target] = [
                Use(d, one)
                for d in found
                for one in occurrences(d.text, name, is_code=d.format == "code")
                if one.signature is not None
            ]
        return self._statements[name, target]

    def _names(self, document: NamingDocument) -> Iterator[str]:
        """Names called in the passage that no document in the folder of a newer edition has."""
        newest, paths = self._newer(document)
        if not paths:
            return
        defined = set(_DEFINED.findall(document.text))
        names = (m[1] for m in _CALLED.finditer(document.text) if is_identifier(m[1]) and m[1] not in defined)
        for name in _first(names):
            if not self._catalog.is_named_in(name, paths, targets=[document.target]):
                yield f"uses {name}, which {newest} no longer has"

    def _newer(self, document: NamingDocument) -> tuple[str, list[str]]:
        """The folder of the newest edition next to the one that holds the document, and the documents in it."""
        own = edition_folder(document.path)
        others: dict[str, list[NamingDocument]] = {}
        for path, target, version in self._editions if own and document.version else ():
            other = edition_folder(path)
            if other and other != own and target == document.target and PurePath(other).parent == PurePath(own).parent:
                others.setdefault(other, []).append(_document(path, target, version))
        newer = {folder: found for folder, found in others.items() if is_newer(found[0], document)}
        newest = min(newer, key=lambda f: sum(is_newer(o[0], newer[f][0]) for o in newer.values()), default="")
        return newest, [one.path for one in newer.get(newest, ())]


def _document(path: str, target: str, version: str, text: str = "") -> NamingDocument:
    return NamingDocument(id=0, path=path, target=target, title="", version=version, format="", trust="", text=text)


def _first(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))[:NAMES_READ]
