"""Prints every package with its files and the first sentence of each; CONTRIBUTING.md holds the output."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("kb", "ingest", "retrieval", "synth", "eval")
WIDTH = 118


def main() -> None:
    print("```text")
    for package in PACKAGES:
        for folder in _folders(ROOT / package):
            print(_line(f"{folder.relative_to(ROOT)}/", folder / "__init__.py"))
            for file in sorted(folder.glob("*.py")):
                if file.name != "__init__.py":
                    print(_line(f"  {file.name}", file))
    print("```")


def _folders(package: Path) -> Iterator[Path]:
    """The folders that Python imports, in alphabetical order, each before those inside it."""
    return (file.parent for file in sorted(package.rglob("__init__.py"), key=lambda file: file.parent.parts))


def _line(name: str, file: Path) -> str:
    docstring = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    sentence = " ".join(docstring.split("\n\n")[0].split()).partition(". ")[0].rstrip(".")
    line = f"{name:<24} {sentence}"
    return line if len(line) <= WIDTH else f"{line[:WIDTH].rpartition(' ')[0]} ..."


if __name__ == "__main__":
    main()
