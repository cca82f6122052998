"""One file a format; each turns a file into a `ParsedDocument`."""

from pathlib import Path

from ingest.builder import ParsedDocument
from kb.errors import DocumentError

FORMATS = {".md": "markdown", ".markdown": "markdown", ".rst": "rst"}
"""Format by suffix; a file with another suffix is reported as skipped."""


def read(path: Path, content: bytes, *, root: Path) -> ParsedDocument:
    """Parse `content`, the bytes of `path`. Nothing outside the folder `root` is read.

    Raises:
        DocumentError: the file is not text in UTF-8, or nests too deeply to be parsed.
    """
    text = decode(content, path)
    try:
        return _parse(text, path, root)
    except RecursionError as error:
        raise DocumentError(f"{path} nests too deeply", hint="check that the file is a manual") from error


def _parse(text: str, path: Path, root: Path) -> ParsedDocument:
    # Each reader's parser is imported when its first file comes: a search needs none of them.
    if FORMATS[path.suffix.lower()] == "markdown":
        from ingest.readers import markdown

        return markdown.read(text)
    from ingest.readers import rst

    return rst.read(text, path=path, root=root)


def decode(content: bytes, path: Path) -> str:
    """UTF-8 text with line ends as `\\n`, without a byte order mark.

    Raises:
        DocumentError: it is not UTF-8; the message names the place.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DocumentError(
            f"{path} is not UTF-8: byte 0x{content[error.start]:02x} in line {line}", hint="convert the file to UTF-8"
        ) from error
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\N{REPLACEMENT CHARACTER}")
