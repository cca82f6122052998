"""One file a format; each turns a file into a `ParsedDocument`."""

from dataclasses import replace
from importlib import import_module
from pathlib import Path

from ingest.builder import ParsedDocument
from ingest.source import Source
from kb.errors import DocumentError

FORMATS = {
    ".adoc": "asciidoc",
    ".asciidoc": "asciidoc",
    ".csv": "delimited",
    ".htm": "html",
    ".html": "html",
    ".ipynb": "notebook",
    ".md": "markdown",
    ".markdown": "markdown",
    ".pdf": "pdf",
    ".rst": "rst",
    ".rst.txt": "rst",
    ".text": "plain",
    ".tsv": "delimited",
    ".txt": "plain",
    ".yaml": "plain",
    ".yml": "plain",
}
"""Reader by the end of a file's name; other files are reported as skipped."""
UNKNOWN_FORMAT = "plain"
"""Reader of other files, when they are asked for."""


def format_of(path: Path) -> str | None:
    """Which reader takes `path`; the longest matching end of its name decides."""
    name = path.name.lower()
    return next((FORMATS[end] for end in sorted(FORMATS, key=len, reverse=True) if name.endswith(end)), None)


def read(path: Path, content: bytes, *, root: Path) -> ParsedDocument:
    """Parse `content`, the bytes of `path`. Nothing outside the folder `root` is read.

    Raises:
        DocumentError: no reader can make sense of the file, or it nests too deeply to be parsed.
    """
    source = Source(path, root, content)
    try:
        # Each reader's parser is imported when its first file comes: a search needs none of them.
        document: ParsedDocument = import_module(f"ingest.readers.{format_of(path) or UNKNOWN_FORMAT}").read(source)
    except RecursionError as error:
        raise DocumentError(f"{path} nests too deeply", hint="check that the file is a manual") from error
    return replace(document, warnings=(*source.warnings, *document.warnings))
