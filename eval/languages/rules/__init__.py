"""What a kernel's author is told of each language, a text file each: change it together with what the judge does."""

from pathlib import Path

CONTRACT = "{contract}"
"""In the rules of a language: what holds for every compiler and chip."""


def rules_of(name: str, contract: str = "") -> str:
    """The text of the file `name`.md beside this one, in words for a model or a person.

    Args:
        contract: The text that takes the place of `CONTRACT`.
    """
    text = Path(__file__).with_name(f"{name}.md").read_text(encoding="utf-8")
    return text.removesuffix("\n").replace(CONTRACT, contract)
