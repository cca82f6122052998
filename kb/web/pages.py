"""Fills the templates of pages. Every value is escaped, unless it is markup that kb made itself."""

from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

HERE = Path(__file__).parent
STYLE = HERE / "static" / "style.css"


@cache
def environment() -> Environment:
    """The templates in `templates/` and `report/`, by the names of their files."""
    loader = FileSystemLoader([HERE / "templates", HERE / "report"])
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
