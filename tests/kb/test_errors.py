"""The tree in the docstring of `kb.errors` is the tree; packages add leaves of their own."""

import re

import pytest

from kb import errors


def drawn() -> dict[str, str]:
    """Parent of each class as the docstring draws it."""
    above = ["KbError"]
    parents: dict[str, str] = {}
    for line in (errors.__doc__ or "").splitlines():
        if drawn := re.match(r"^((?:[│ ]   )*)[├└]── (\w+)  +\S", line):
            depth = len(drawn.group(1)) // 4 + 1
            del above[depth:]
            parents[drawn.group(2)] = above[-1]
            above.append(drawn.group(2))
    return parents


def defined(root: type[errors.KbError]) -> dict[str, str]:
    parents: dict[str, str] = {}
    for child in (c for c in root.__subclasses__() if c.__module__ == errors.__name__):
        parents |= {child.__name__: root.__name__} | defined(child)
    return parents


def test_every_error_is_drawn_in_the_module_docstring_below_its_own_parent() -> None:
    assert drawn() == defined(errors.KbError)


def test_an_error_cannot_be_raised_without_saying_what_to_do() -> None:
    with pytest.raises(TypeError):
        errors.KbError("the disk is full")  # type: ignore[call-arg]


def test_an_error_keeps_message_and_hint_apart() -> None:
    error = errors.DiskFullError("no space left", hint="free some")

    assert (str(error), error.message, error.hint) == ("no space left", "no space left", "free some")
