"""Fills the templates of prompts. A value is data: if it looks like a template, it is shown as it is."""

import re
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined


def fenced(text: str, tag: str) -> str:
    """A fenced block whose fence is longer than any inside the text."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{tag}\n{text.rstrip()}\n{fence}"


def one_line(text: str) -> str:
    return " ".join(text.split())


ENVIRONMENT = Environment(
    loader=FileSystemLoader(Path(__file__).with_name("templates")),
    undefined=StrictUndefined,
    autoescape=False,  # noqa: S701 - prompts are Markdown for a model, not HTML
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)
ENVIRONMENT.filters["fenced"] = fenced


def render(name: str, **values: object) -> str:
    """The text of the template `name`. Raises UndefinedError if it uses a value that is not given."""
    return ENVIRONMENT.get_template(f"{name}.md.j2").render(values).removesuffix("\n")


def render_parts(name: str, **values: object) -> dict[str, str]:
    """The text of each block of the template `name`, by the block's name. Errors as in `render`."""
    template = ENVIRONMENT.get_template(f"{name}.md.j2")
    return {
        part: "".join(block(template.new_context(values))).removesuffix("\n") for part, block in template.blocks.items()
    }
