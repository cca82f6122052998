"""The words of a file, to compare them with those that were stored of it."""

import re
from pathlib import Path

from ingest.source import Source

_WORD = re.compile(r"[A-Za-z0-9_.]{3,}")


def file_words(path: Path, content: bytes, *, kind: str) -> set[str]:
    """The distinct words of a file of format `kind`.

    Of a PDF those of its text layer, of HTML those outside tags, scripts and styles. Of any other file all it holds: to
    lack words of its markup (directives, link targets) is no loss.
    """
    return words(_readable(path, content, kind))


def words(text: str) -> set[str]:
    """Without the full stops round them: a sentence's end is no part of its last word."""
    return {word for found in _WORD.findall(text) if len(word := found.strip("._")) > 2}


def _readable(path: Path, content: bytes, kind: str) -> str:
    if kind == "pdf":
        import pypdfium2

        with pypdfium2.PdfDocument(content) as pages:
            return "\n".join(page.get_textpage().get_text_bounded() for page in pages)
    text = Source(path, path.parent, content).text
    if kind == "html":
        from selectolax.lexbor import LexborHTMLParser

        tree = LexborHTMLParser(text)
        tree.strip_tags(["script", "style", "svg"])
        return tree.text(separator=" ")
    return text
