"""The words of a file, for comparison with the words stored from it."""

import re
from pathlib import Path

from ingest.source import Source

_WORD = re.compile(r"[A-Za-z0-9_.]{3,}")


def file_words(path: Path, content: bytes, *, kind: str) -> set[str]:
    """Return the distinct words of a file of format `kind`.

    A PDF gives the words of its text layer, HTML the words outside tags, scripts and styles. Any other file gives all
    its words, those of its markup (directives, link targets) included: if these were not stored, nothing is lost.
    """
    return words(_readable(path, content, kind))


def words(text: str) -> set[str]:
    """Return the distinct words without full stops around them: the end of a sentence is not part of its last word."""
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
