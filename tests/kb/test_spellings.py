"""A pattern for many words finds what their plain alternatives find."""

import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from kb.targets import Targets
from kb.types.spellings import any_of

WORDS = st.lists(st.text("abB1_", min_size=1, max_size=4).filter(lambda word: word[0] != "_"), min_size=1, unique=True)


@given(WORDS, st.text("aAbB1_ -", max_size=40))
def test_it_finds_the_first_word_that_matches_as_alternatives_do(words: list[str], text: str) -> None:
    for flags in (re.NOFLAG, re.IGNORECASE):
        plain = re.compile("|".join(words), flags)
        assert re.findall(any_of(words, re.escape), text, flags) == plain.findall(text)


def test_letters_of_other_scripts_do_not_spell_a_target(tmp_path: Path) -> None:
    targets = Targets.load(tmp_path)

    assert targets.finder(["hopper"])("\u017fm_90 and sm_90") == [(10, 15, "hopper")]
