"""Fills the templates of pages. Every value is escaped, unless it is markup that kb made itself."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from kb.views.printable import printable

HERE = Path(__file__).parent
STYLE = HERE / "static" / "style.css"


@cache
def environment() -> Environment:
    """The templates in `templates/` and `report/`, by the names of their files."""
    loader = FileSystemLoader([HERE / "templates", HERE / "report"])
    made = Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=harmless,
    )
    made.globals["url"] = url
    return made


def harmless(value: object) -> object:
    """A value without characters that control how a text is shown."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def url(path: str, query: Mapping[str, object], anchor: str = "") -> str:
    """The address of a page; entries of the query that are empty are left out."""
    asked = urlencode({name: value for name, value in query.items() if value}, doseq=True)
    return path + f"?{asked}" * bool(asked) + f"#{anchor}" * bool(anchor)
