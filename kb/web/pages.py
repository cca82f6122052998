"""Fills the templates of pages. Every value is escaped, unless it is markup that kb made itself."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from markupsafe import Markup, escape

from kb.printable import printable
from kb.views.verdicts import Estimate

HERE = Path(__file__).parent
STYLE = HERE / "static" / "style.css"
LEXERS = {"triton": "python", "torch": "python"}
"""The lexers of Pygments for languages of which it has no lexer of the same name."""
_PLAIN = re.compile(r'<span class="(?![kcsmg]|ow)\w+">([^<]*)</span>')
"""Words in the classes of Pygments that the style sheet leaves as they are."""


@cache
def environment() -> Environment:
    """The templates in `templates/` and `report/`, by the names of their files.

    Values are escaped in files that end in `.html`; the filters `md` and `fence` quote them in Markdown.
    """
    loader = FileSystemLoader([HERE / "templates", HERE / "report"])
    made = Environment(
        loader=loader,
        autoescape=select_autoescape(("html",)),
        finalize=lambda value: printable(value) if type(value) is str else value,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals["url"] = url
    made.filters |= {"us": us, "times": times, "code": code, "md": md, "fence": fence, "moment": moment}
    return made


def url(path: str, query: Mapping[str, object], anchor: str = "") -> str:
    """The address of a page; entries of the query that are empty are left out."""
    asked = urlencode({name: value for name, value in query.items() if value}, doseq=True)
    return path + f"?{asked}" * bool(asked) + f"#{anchor}" * bool(anchor)


def us(time: Estimate, digits: int = 1) -> str:
    """A time in microseconds with its interval."""
    return f"{time.value:,.{digits}f} us ({time.low:,.{digits}f} to {time.high:,.{digits}f})"


def times(speedup: Estimate) -> str:
    """A speed-up with its interval."""
    return f"{speedup.value:.2f} times ({speedup.low:.2f} to {speedup.high:.2f})"


def moment(text: str) -> str:
    """A time in UTC for people."""
    return f"{text[:10]} {text[11:16]} UTC" if text else "unknown"


def code(source: str, language: str) -> Markup:
    """Source or a `diff` with its words in classes of Pygments."""
    source = printable(source)
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        lexer = get_lexer_by_name(LEXERS.get(language, language), stripnl=False)
    except ClassNotFound:
        return escape(source)
    marked = highlight(source, lexer, HtmlFormatter(nowrap=True))
    return Markup(_PLAIN.sub(r"\1", marked))  # noqa: S704 - Pygments escapes what it is given


def md(text: str) -> str:
    """`text` as code in a line or a cell of Markdown: nothing in it is markup, a link, or a name that is told of it."""
    plain = " ".join(text.split()).replace("|", r"\|") or " "
    ticks = _longer_than_in(plain, 1)
    return f"{ticks} {plain} {ticks}" if "`" in plain else f"{ticks}{plain}{ticks}"


def fence(text: str, language: str = "") -> str:
    """A fenced block that `text` cannot end."""
    ticks = _longer_than_in(text, 3)
    return f"{ticks}{language}\n{text.rstrip()}\n{ticks}"


def _longer_than_in(text: str, least: int) -> str:
    """At least so many backticks, and more than `text` has in a row."""
    return "`" * max(least, 1 + max(map(len, re.findall("`+", text)), default=0))
