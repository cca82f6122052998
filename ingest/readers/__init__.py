"""One reader for each format; each turns a file into a `ParsedDocument`."""

from dataclasses import replace
from importlib import import_module
from pathlib import Path

from ingest.builder import ParsedDocument
from ingest.readers.languages import LANGUAGES
from ingest.source import Source
from kb.errors import DocumentError, MissingLibraryError

CODE = "code"
"""Reader of source code, in which numbers are no statements about hardware."""
FORMATS = {
    ".adoc": "asciidoc",
    ".asciidoc": "asciidoc",
    ".csv": "delimited",
    ".htm": "html",
    ".html": "html",
    ".ipynb": "notebook",
    ".md": "markdown",
    ".markdown": "markdown",
    ".mdx": "markdown",
    ".pdf": "pdf",
    ".rst": "rst",
    ".rst.txt": "rst",
    ".text": "plain",
    ".tsv": "delimited",
    ".txt": "plain",
    ".yaml": "plain",
    ".yml": "plain",
    **dict.fromkeys(LANGUAGES, CODE),
}
"""Reader for each ending of a file name; other files are reported as skipped."""
UNKNOWN_FORMAT = "plain"
"""Reader of other files, if the user asks for them."""


def format_of(path: Path) -> str | None:
    """Return the reader for `path`; the longest matching ending of its name decides."""
    name = path.name.lower()
    return next((FORMATS[end] for end in sorted(FORMATS, key=len, reverse=True) if name.endswith(end)), None)


def missing_libraries() -> dict[str, str]:
    """For each format that cannot be read here, the library that is not installed, or why it cannot be loaded."""
    missing = {}
    for reader in dict.fromkeys(FORMATS.values()):
        try:
            import_module(f"ingest.readers.{reader}")
        except ImportError as error:
            missing[reader] = error.name or str(error)
    return missing


def read(path: Path, content: bytes, *, root: Path, documents: frozenset[str] = frozenset()) -> ParsedDocument:
    """Parse `content`, the bytes of `path`. Nothing outside the folder `root` is read.

    Args:
        documents: Files that are read as documents of their own: a document that includes one whole refers to it.

    Raises:
        DocumentError: the file cannot be read, or its blocks are nested too deeply.
    """
    source = Source(path, root, content, documents)
    try:
        # Import each reader's parser only when its first file comes: a search needs none of them.
        document: ParsedDocument = import_module(f"ingest.readers.{format_of(path) or UNKNOWN_FORMAT}").read(source)
    except ModuleNotFoundError as error:
        missing = MissingLibraryError(error.name)
        raise DocumentError(missing.message, hint=missing.hint) from error
    except RecursionError as error:
        raise DocumentError(f"{path} is nested too deeply", hint="check that the file is a manual") from error
    return replace(document, warnings=(*source.warnings, *document.warnings))
