"""Editions: versions and dates in text, which of two is newer, and parts of a path that name one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.types.edition import Edition, document_precedence, is_same_product, product_folder
from kb.types.records import Trust

TEXTS = [
    ("1.1.6", "1.1.6", ""),
    ("v2.3", "2.3", ""),
    ("Release 24.04.1", "24.04.1", ""),
    ("1.1-draft", "1.1-draft", ""),
    ("2026-02", "", "2026-02"),
    ("20260211", "", "2026-02-11"),
    ("11 February 2026", "", "2026-02-11"),
    ("Feb 11, 2026", "", "2026-02-11"),
    ("February 2026", "", "2026-02"),
    ("02/13/2026", "", "2026-02-13"),
    ("13/02/2026", "", "2026-02-13"),
    ("06/11/2026", "", "2026"),
    ("1.1.6 (2025-09-01)", "1.1.6", "2025-09-01"),
    ("[1.1.6] - 2025-09-01", "1.1.6", "2025-09-01"),
    ("trunk", "", ""),
]
NEWER = [
    ("1.10", "1.9"),
    ("2.0", "2.0rc1"),
    ("2026-02", "2025-12-31"),
    ("2026", "2025-12"),
    ("1.0 (2026-02)", "2.0 (2025-02)"),
]
NOT_COMPARABLE = [("1.1.6", "2026-02"), ("2026", "2026-02"), ("1.0", "trunk"), ("", "1.0"), ("1.0", "1.0")]

editions = st.builds(
    Edition,
    version=st.sampled_from(["", "1", "1.2", "1.10", "2.0rc1", "2.0"]),
    date=st.sampled_from(["", "2025", "2025-03", "2025-03-04", "2026-01"]),
)


@pytest.mark.parametrize(("text", "version", "date"), TEXTS)
def test_version_and_date_are_read_as_people_write_them(text: str, version: str, date: str) -> None:
    assert Edition.read(text) == Edition(version=version, date=date)


@pytest.mark.parametrize(("newer", "older"), NEWER)
def test_dates_decide_before_versions_and_numbers_compare_as_numbers(newer: str, older: str) -> None:
    assert Edition.read(newer).is_newer_than(Edition.read(older), same_product=True)
    assert not Edition.read(older).is_newer_than(Edition.read(newer), same_product=True)


@pytest.mark.parametrize(("one", "other"), NOT_COMPARABLE)
def test_a_version_and_a_date_say_nothing_about_which_is_newer(one: str, other: str) -> None:
    assert not Edition.read(one).is_newer_than(Edition.read(other), same_product=True)
    assert not Edition.read(other).is_newer_than(Edition.read(one), same_product=True)


def test_versions_of_two_products_are_not_compared_but_dates_are() -> None:
    assert not Edition(version="22").is_newer_than(Edition(version="6.4"), same_product=False)
    assert Edition(date="2026").is_newer_than(Edition(date="2025"), same_product=False)


@given(editions, editions, st.booleans())
def test_at_most_one_of_two_editions_is_newer(one: Edition, other: Edition, same: bool) -> None:
    assert not (one.is_newer_than(other, same_product=same) and other.is_newer_than(one, same_product=same))


@pytest.mark.parametrize(
    ("path", "other", "same"),
    [
        ("docs/v1.1.6/api.md", "docs/v2.0/api.md", True),
        ("docs/v1.1.6/api.md", "docs/v2.0/guide/intro.md", True),
        ("docs/2025-08/api.md", "docs/latest/api.md", True),
        ("chip/compiler/a.md", "chip/profiler/a.md", False),
        ("chip/pcie/a.md", "chip/pcie/b.md", True),
    ],
)
def test_documents_in_nested_folders_are_of_one_product_whatever_their_editions(
    path: str, other: str, *, same: bool
) -> None:
    assert is_same_product(path, other) is same
    assert is_same_product(other, path) is same


def test_parts_that_name_chips_are_no_editions() -> None:
    path = "amd/gfx9.4.3/sm_90/tpu-v4/cdna3/a.md"

    assert product_folder(path) == tuple(path.split("/")[:-1])


@pytest.mark.parametrize(
    ("path", "title", "number"),
    [
        ("chip/draft-v0.7/reference.md", "", -1),
        ("chip/legacyreleases/2021/isa.pdf", "", 0),
        ("chip/legacy-releases/2021/isa.pdf", "", -1),
        ("chip/Archive/errata.pdf", "", -1),
        ("chip/docs.old/isa.pdf", "", -1),
        ("chip/thresholds/isa.md", "", 0),
        ("chip/drafting/isa.md", "", 0),
        ("chip/guide/archive.md", "", 0),
        ("chip/errata-rev-b.pdf", "Chip", 1),
        ("chip/notes.md", "Specification Corrigendum 2", 1),
        ("chip/operator.md", "Operata", 0),
    ],
)
def test_names_of_folders_and_documents_say_what_is_in_force(path: str, title: str, number: int) -> None:
    assert document_precedence(path, title, Trust.VENDOR) == number


def test_only_the_vendor_corrects_its_documents() -> None:
    assert document_precedence("chip/errata.md", "Errata", Trust.COMMUNITY) == 0
