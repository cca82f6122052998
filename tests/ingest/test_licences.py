"""The licence of a document is that of the nearest licence file above it, never one outside the ingested folder."""

from pathlib import Path

import pytest

from ingest.licences import _licence, licence_near

MIT = "MIT License\n\nPermission is hereby granted, free\nof charge, to any person ..."
TEXTS = {
    "MIT": MIT,
    "Apache-2.0": "Apache License\n  Version 2.0, January 2004",
    "BSD-3-Clause": "Redistribution and use in source and binary forms ... Neither the name of ...",
    "BSD-2-Clause": "Redistribution and use in source and binary forms, with or without modification",
    "CC-BY-4.0": "Attribution 4.0 International",
    "CC-BY-SA-4.0": "Attribution-ShareAlike 4.0 International",
    "CC-BY-ND-4.0": "Attribution-NoDerivatives 4.0 International",
    "GPL": "GNU GENERAL PUBLIC LICENSE Version 2",
    "Zlib": "SPDX-License-Identifier: Zlib",
    "Apache-2.0 WITH LLVM-exception": "// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception",
}


@pytest.fixture(autouse=True)
def forget() -> None:
    _licence.cache_clear()


def licence(root: Path, files: dict[str, str], path: str = "docs/guide.md") -> str:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    return licence_near(root / path, root)


@pytest.mark.parametrize("name", TEXTS)
def test_a_licence_is_recognised_by_its_text(tmp_path: Path, name: str) -> None:
    assert licence(tmp_path, {"LICENSE": TEXTS[name]}).split(", ")[0] == name


def test_the_nearest_licence_decides(tmp_path: Path) -> None:
    assert licence(tmp_path, {"LICENSE": MIT, "docs/COPYING": TEXTS["GPL"]}) == "GPL"


def test_a_licence_file_named_after_a_folder_applies_only_to_that_folder(tmp_path: Path) -> None:
    files = {"LICENSE.docs": TEXTS["CC-BY-4.0"], "LICENSE.code": MIT}

    assert licence(tmp_path, files) == "CC-BY-4.0"
    assert licence(tmp_path, files, "other/guide.md") == ""


def test_several_licences_in_one_file_are_all_named(tmp_path: Path) -> None:
    assert licence(tmp_path, {"LICENSE.md": MIT + TEXTS["Apache-2.0"]}) == "Apache-2.0, MIT"


def test_a_licence_that_is_not_recognised_is_given_by_its_file_name(tmp_path: Path) -> None:
    assert licence(tmp_path, {"LICENSE.txt": "Ask us."}) == "LICENSE.txt"


def test_nothing_outside_the_ingested_folder_is_read(tmp_path: Path) -> None:
    (tmp_path / "LICENSE").write_text(MIT, encoding="utf-8")

    assert licence(tmp_path / "docs", {}) == ""


def test_a_licence_file_that_cannot_be_read_or_is_a_link_does_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").write_text(MIT, encoding="utf-8")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "COPYING").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "docs" / "LICENSE").write_text(MIT, encoding="utf-8")

    def refuse(*_arguments: object, **_options: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)

    assert licence_near(tmp_path / "docs" / "guide.md", tmp_path / "docs") == "LICENSE"
