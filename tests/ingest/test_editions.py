"""The edition of a document: from itself, else from the files around it, else from its path."""

from pathlib import Path

import pytest

from ingest.editions import edition_of
from ingest.readers import read

STATED = {
    "front matter gives the version": ("---\nversion: 1.10\n---\n# A\n", "1.10"),
    "front matter gives version and date": ("---\nversion: 1.10\ndate: 2026-02-03\n---\n# A\n", "1.10 (2026-02-03)"),
    "front matter gives another date": ("---\nlast_updated: 3 Feb 2026\n---\n# A\n", "2026-02-03"),
    "the title ends with it": ("# Guide v2.3\n", "v2.3"),
    "the title gives a release": ("# Manual, Release 1.1.6\n", "Release 1.1.6"),
    "a line below the title": ("# A\n\nLast updated: 2026-02-03\n\nText.\n", "2026-02-03"),
    "a table of revisions": (
        "# A\n\n## Revision history\n\n| Revision | Date | Changes |\n|---|---|---|\n"
        "| 1.0 | 2024-01-02 | first |\n| 1.2 | 2025-06-07 | more |\n",
        "1.2 (2025-06-07)",
    ),
}
NOT_STATED = {
    "another product's version": "# End of support for Python 3.9\n\nText.\n",
    "a number in the title": "# ResNet v2 on 8 chips\n",
    "a table of products": "# A\n\n| Version | Speed |\n|---|---|\n| 2.0 | 4 |\n",
}
FILES = {
    "pyproject.toml": ('[project]\nname = "x"\nversion = "1.1.6"\n', "1.1.6"),
    "package.json": ('{"name": "x", "version": "3.0.1"}', "3.0.1"),
    "Cargo.toml": ('[package]\nversion = "0.4.2"\n', "0.4.2"),
    "CMakeLists.txt": ("cmake_minimum_required(VERSION 3.20)\nproject(x LANGUAGES C VERSION 5.1)\n", "5.1"),
    "conf.py": ("project = 'x'\nrelease = '7.2'\n", "7.2"),
    "antora.yml": ("name: x\nversion: '9.1'\n", "9.1"),
    "VERSION": ("v4.5.6\n", "v4.5.6"),
    "CHANGELOG.md": (
        "# Changes\n\n## Unreleased\n\n## [1.4.0] - 2025-03-02\n\n## [1.3.0] - 2024-01-01\n",
        "1.4.0 (2025-03-02)",
    ),
}


def edition(path: Path, root: Path) -> str:
    document = read(path, path.read_bytes(), root=root)
    title = document.metadata.get("title") or (document.sections[0].title if document.sections else path.stem)
    return edition_of(document, title, path, root)


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize("case", STATED)
def test_a_document_states_its_own_edition(tmp_path: Path, case: str) -> None:
    text, expected = STATED[case]

    assert edition(written(tmp_path / "a.md", text), tmp_path) == expected


@pytest.mark.parametrize("case", NOT_STATED)
def test_versions_of_other_things_are_not_the_documents(tmp_path: Path, case: str) -> None:
    assert edition(written(tmp_path / "docs" / "a.md", NOT_STATED[case]), tmp_path / "docs") == ""


@pytest.mark.parametrize("name", FILES)
def test_the_nearest_package_file_gives_the_version(tmp_path: Path, name: str) -> None:
    content, expected = FILES[name]
    written(tmp_path / "VERSION", "99.0\n")
    written(tmp_path / "package" / name, content)

    assert edition(written(tmp_path / "package" / "docs" / "a.md", "# A\n"), tmp_path) == expected


def test_the_change_log_dates_the_version_of_the_package_file(tmp_path: Path) -> None:
    written(tmp_path / "pyproject.toml", 'version = "1.1.6"\n')
    written(tmp_path / "CHANGELOG.md", "## 1.1.6 (2025-09-01)\n")

    assert edition(written(tmp_path / "a.md", "# A\n"), tmp_path) == "1.1.6 (2025-09-01)"


def test_files_above_the_ingested_folder_and_placeholders_do_not_count(tmp_path: Path) -> None:
    written(tmp_path / "VERSION", "2.0\n")
    written(tmp_path / "docs" / "package.json", '{"version": "0.0.0"}')

    assert edition(written(tmp_path / "docs" / "a.md", "# A\n"), tmp_path / "docs") == ""


@pytest.mark.parametrize(
    ("path", "expected"), [("v1.1.6/a.md", "v1.1.6"), ("2026-02/a.md", "2026-02"), ("x/guide-v1.2.md", "v1.2")]
)
def test_the_path_is_the_last_resort(tmp_path: Path, path: str, expected: str) -> None:
    assert edition(written(tmp_path / "docs" / path, "# A\n"), tmp_path / "docs") == expected
    assert edition(written(tmp_path / "docs" / path, "# A v3.0\n"), tmp_path / "docs") == "v3.0"
