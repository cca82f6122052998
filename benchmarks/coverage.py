"""Measure whether readers lose text: for each file, the share of its distinct words in its parsed document.

    python -m benchmarks.coverage CORPUS --out benchmarks/results/coverage.json [--formats rst html] [--missing 12]

A word is `[A-Za-z0-9_.]{3,}` in the file, or in the text layer of a PDF, without the markup that NO_TEXT lists.
`--missing` prints missing words of the worst files. The script also checks that every character of the body is in
exactly one chunk and that no reader crashes, and measures the time.
"""

import argparse
import html
import re
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import NamedTuple

import pypdfium2

from benchmarks.origin import write_result
from benchmarks.tables import LIBRARIES
from ingest.builder import ParsedDocument
from ingest.chunk import chunk
from ingest.readers import format_of, read
from ingest.source import Source
from kb.types.records import ChunkRecord
from tests.ingest.chunks import check_coverage

WORD = re.compile(r"[A-Za-z0-9_.]{3,}")
WHOLE_SHARE = 0.99
WORST = 10

_URL = r"\b(?:https?|ftp|mailto):[^\s<>\"'`\])]+"
_COMMENT = r"<!--.*?-->"
_TAG = r"</?[A-Za-z][^<>]*>|<![A-Za-z][^<>]*>"
_HIDDEN = r"<(script|style|svg)\b.*?</\1\s*>"

NO_TEXT: dict[str, list[tuple[str, str]]] = {
    "markdown": [
        (r"\A---\n.*?\n---\n", ""),  # front matter: its values are metadata
        (_COMMENT, ""),
        (r"\]\(<[^<>\n]*>|\]\[[^\[\]\n]*\]", "] "),  # link targets in brackets
        (r"\]\((?:[@\\](?:ref|subpage)\s+)?[^()\s]*(?:\([^()\s]*\)[^()\s]*)*(?=[\s)])", "] "),  # and others
        (r"^[ ]{0,3}\[[^\]\n^]+\]:[ \t]*[^\n]+", ""),  # reference definitions
        (r"^([ \t>]*`{3,}\{[^\n]*\n)---\n.*?\n---$|^\+\+\+[^\n]*$", r"\1"),  # options and ids of MyST cells
        (_URL, ""),
        (_HIDDEN, ""),
        (_TAG, " "),
        (r"^([ \t>]*)(`{3,}|:{3,})\{(?:code-cell|figure|image|include|literalinclude)\}[^\n]*", r"\1"),  # paths
        (r"^([ \t>]*)(`{3,}|:{3,})\{[\w:+.-]+\}", r"\1"),  # directive names
        (r"^([ \t>]*`{3,}[\w+-]*)[ \t][^\n`]*$", r"\1"),  # attributes of code
        (r"\[![A-Z]+\]", ""),  # alerts
        (r"^[ \t]*:[\w-]+:[^\n`]*$", ""),  # their options
        (r"^\([\w:.-]+\)=$|\{#[\w:.-]+\}|\{[a-z:]+\}(?=`)", ""),  # labels, anchors and role names
        (r"\{%.*?%\}|\{\{.*?\}\}", ""),  # Liquid
        (r"(?<![\w@\\])[@\\](?:anchor|copydoc|section|subpage|page)\s+[\w:.-]+|(?<!\w)[@\\][a-z]+\b", ""),  # Doxygen
        (r"\[\^[^\]\s]+\]", ""),  # footnote marks
    ],
    "rst": [
        (r"^([ \t]*)\.\. _[^\n]*(?:\n\1[ \t]+\S[^\n]*)*|\.\. _[^\n:,]*:|^__ [^\n]*", ""),  # targets
        (r"^[ \t]*\.\. \|[^|\n]+\|[^\n]*", ""),  # definitions of substitutions, which are shown where used
        (r"^([ \t]*)\.\.(?: (?![^\n]*::|\[)[^\n]*|(?=\n\1[ \t]+\S))(?:\n(?:\1[ \t]+[^\n]*|[ \t]*))*(?=\n|\Z)",
         ""),  # comments
        (r"^([ \t]*)\.\. (?:raw|meta|index|toctree|contents|include|highlight|currentmodule|only)::[^\n]*"
         r"(?:\n(?:\1[ \t]+[^\n]*|[ \t]*))*(?=\n|\Z)", ""),  # directives without text of this file
        (r"\.\. (?:class|container|cssclass|figure|image|literalinclude|rst-class)::[^\n]*", ""),  # paths, classes
        (r"(?:\.\. |\|)[\w:+.-]+::", ""),  # directive names
        (r"^[ \t]+:[\w-]+:[^\n`]*$", ""),  # their options
        (r"\s?<[^<>`]*>(?=`(?!`))", ""),  # targets of links and roles
        (r":[A-Za-z][\w:+.-]*:(?=`)", ""),  # role names
        (_URL, ""),
        (r"\[#?[^\]\s]*\]_|\.\. \[[^\]\n]*\]", ""),  # footnote marks
    ],
    "asciidoc": [
        (r"\(\(\(.*?\)\)\)", ""),  # index terms that are not shown
        (r"\{[\w-]+\}", " "),  # names of signs and attributes
        (r"^(?:NOTE|TIP|WARNING|IMPORTANT|CAUTION): |\[\.[\w.-]+\](?=#)", ""),  # admonitions, roles
        (r"^////\n.*?^////$|^//[^\n]*", ""),  # comments
        (r"^:!?[\w-]+!?:[^\n]*", ""),  # attributes
        (r"^\[[^\n]*\][ \t]*$", ""),  # block attributes and anchors
        (r"\[\[[^\]\n]*\]\]|\[#[^\]\n]*\](?=#)", ""),
        (r"<<[^,>\n]*(?:,|(?=>>))", ""),  # targets of references
        (r"^(?:bibliography|include|ifdef|ifndef|ifeval|endif|image)::[^\n]*", ""),
        (r"\b(?:link|xref|image|cite|indexterm2?|kbd|footnote|norm|stem):{1,2}[^\s\[]*", ""),
        (r"\b(?:csr|ext|extlink|insn):(?=\S)", ""),
        (_URL, ""),
    ],
    "html": [(_COMMENT, ""), (_HIDDEN, ""), (_TAG, " ")],
}  # fmt: skip
NO_TEXT_PATTERNS = {
    name: [(re.compile(pattern, re.MULTILINE | re.DOTALL), by) for pattern, by in rules]
    for name, rules in NO_TEXT.items()
}


class File(NamedTuple):
    path: str
    share: float
    missing: list[str]
    seconds: float
    is_whole_in_chunks: bool


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--formats", nargs="*", help="only files of these readers")
    parser.add_argument("--missing", type=int, default=0, help="number of missing words to print for the worst files")
    options = parser.parse_args()
    files, failed, unread = defaultdict(list), defaultdict(list), 0
    for path in sorted(p for p in options.corpus.rglob("*") if p.is_file()):
        name = format_of(path)
        if name is None or (options.formats and name not in options.formats):
            unread += 1
            continue
        try:
            files[name].append(measure(path, options.corpus, name))
        except Exception as error:  # noqa: BLE001 - any exception of a reader is a result
            failed[name].append(f"{path.relative_to(options.corpus)}: {type(error).__name__}: {error}")
    result = {name: summary(files[name], failed[name]) for name in sorted({*files, *failed})}
    write_result(options.out, {"not read": unread, "formats": result}, LIBRARIES)
    for file in (f for name in files for f in worst(files[name]) if options.missing):
        print(f"{file.share:.3f} {file.path}: {' '.join(file.missing[: options.missing])}")


def measure(path: Path, corpus: Path, kind: str) -> File:
    content, name = path.read_bytes(), str(path.relative_to(corpus))
    root = corpus / Path(name).parts[0]
    began = time.process_time()
    document = read(path, content, root=root)
    chunks = chunk(document, title=path.name, tokenizer=None)
    seconds = time.process_time() - began
    wanted = words(pdf_text(content) if kind == "pdf" else shown_text(Source(path, root, content).text, kind))
    # A word that markup splits is part of the text without being one of its words.
    missing = sorted(word for word in wanted - words(document.text) if word not in document.text)
    share = 1 - len(missing) / len(wanted) if wanted else 1.0
    return File(name, share, missing, seconds, is_whole(document, chunks))


def summary(files: list[File], failed: list[str]) -> dict:
    if not files:
        return {"files": len(failed), "failed": failed}
    return {
        "files": len(files) + len(failed),
        "failed": failed,
        "mean share of words": round(mean(file.share for file in files), 5),
        f"files with {WHOLE_SHARE} or more": round(mean(file.share >= WHOLE_SHARE for file in files), 4),
        "not whole in chunks": [file.path for file in files if not file.is_whole_in_chunks],
        "seconds of the processor": round(sum(file.seconds for file in files), 1),
        "of the slowest file": round(max(file.seconds for file in files), 1),
        "worst": {file.path: round(file.share, 4) for file in worst(files)},
    }


def worst(files: list[File]) -> list[File]:
    return sorted((file for file in files if file.share < 1), key=lambda file: file.share)[:WORST]


def shown_text(source: str, kind: str) -> str:
    for pattern, replacement in NO_TEXT_PATTERNS.get(kind, []):
        source = pattern.sub(replacement, source)
    return re.sub(r"\\([^\w\s])", r"\1", html.unescape(source)) if kind in NO_TEXT_PATTERNS else source


def pdf_text(content: bytes) -> str:
    document = pypdfium2.PdfDocument(content)
    return "\n".join(page.get_textpage().get_text_bounded() for page in document)


def words(text: str) -> set[str]:
    found = (word.strip("._") for word in WORD.findall(text))
    return {word for word in found if len(word) > 2}


def is_whole(document: ParsedDocument, chunks: Sequence[ChunkRecord]) -> bool:
    try:
        check_coverage(document, chunks)
    except AssertionError:
        return False
    return True


if __name__ == "__main__":
    main()
