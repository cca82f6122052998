"""Made-up words, of which no two seeds share one."""

from collections.abc import Iterator

CONSONANTS, VOWELS, ENDINGS = "bdfgklmnprstvz", "aeiou", "klmnrs"
SYLLABLES = [consonant + vowel for consonant in CONSONANTS for vowel in VOWELS]
WORDS = len(SYLLABLES) ** 3 * len(ENDINGS)
WORDS_PER_SEED = 256
SEEDS = WORDS // WORDS_PER_SEED
"""Seeds from 0 to this number have words."""
STRIDE = 1_299_709
"""A prime, so that it has no factor in common with WORDS, and consecutive words look unlike."""


def words(seed: int) -> Iterator[str]:
    """The words of a seed, such as `dorakes`: WORDS_PER_SEED of them, each of them once.

    Raises:
        ValueError: there are no words for this seed.
    """
    if not 0 <= seed < SEEDS:
        raise ValueError(f"seed {seed} has no words; seeds are 0 to {SEEDS - 1}")
    for number in range(seed * WORDS_PER_SEED, (seed + 1) * WORDS_PER_SEED):
        yield _word(number * STRIDE % WORDS)


def _word(number: int) -> str:
    number, ending = divmod(number, len(ENDINGS))
    syllables = []
    for _ in range(3):
        number, syllable = divmod(number, len(SYLLABLES))
        syllables.append(SYLLABLES[syllable])
    return "".join(syllables) + ENDINGS[ending]
