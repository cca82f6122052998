"""What differs from the reference: errata, release notes, and what only the sibling has."""

from collections.abc import Callable, Mapping, Sequence

from benchmarks.unseen.manual.document import Block, Paragraph, Section
from benchmarks.unseen.manual.scribe import Scribe
from benchmarks.unseen.manual.statements import Fact


def errata(by: Scribe, printed: Mapping[str, Fact], actual: Mapping[str, Fact]) -> list[Block]:
    """What the text states wrongly, or not at all, for this stepping.

    Args:
        printed, actual: The facts of the text and of the chip, by key, where they differ.
    """
    sections: list[Block] = []
    for number, key in enumerate(by.style.chance.sample(sorted(actual), len(actual)), 1):
        fact = actual[key]
        before = by.quoted(printed[key]) if key in printed else by.said("nothing[ about this|]")
        sections.append(
            by.section(
                f"E{number:02} ({{stepping}})",
                Paragraph(
                    by.said("[Affected|Concerns]: {chip}, stepping {stepping}. `{subject}`.", subject=fact.subject)
                ),
                Paragraph(by.said("[The reference says|Printed]: {before}", before=before)),
                Paragraph(by.said("[On this stepping|Correct]: {text}", text=by.sentence(fact))),
            )
        )
    return sections


def release_notes(by: Scribe, versions: Sequence[str], told: Sequence[Fact]) -> list[Block]:
    """What changed from version to version of the documents. The newest also tells some numbers (`told`)."""
    changes = (
        "[Clearer|Better] wording in the section about `{wait}`.",
        "[Figures|Drawings] of the package replaced.",
        "The guide [has|got] a complete program.",
        "Board revision 2 [added|described].",
        "Names of instructions are final; drafts before version 1 use others.",
        "Times of `{special}` [measured again|confirmed].",
        "Host driver: `time_out` [documented|explained].",
    )
    return [
        Section(
            f"Version {version}",
            (
                by.bullets(*by.style.chance.sample(changes, 3)),
                *(Paragraph(by.sentence(fact)) for fact in told if not place),
            ),
        )
        for place, version in enumerate(versions)
    ]


FEATURES: tuple[tuple[str, str, str, int, int], ...] = (
    ("codec", "[The codec|A codec] `{word}` compresses rows at «{number} bytes per <cycles>».",
     "At what rate does the codec of {chip} compress rows?", 8, 64),
    ("sorter", "[The sorter|A sorter] `{word}` orders «{number} keys» at a time.",
     "How many keys does the hardware sorter of {chip} order at once?", 16, 96),
    ("mailbox", "[Neighbouring cores|Two cores] exchange messages of «{number} words» through `{word}`.",
     "How long is a message between neighbouring cores of {chip}?", 4, 40),
    ("dice", "[The random generator|A random generator] `{word}` fills a vector in «{number} <cycles>».",
     "How long does the random generator of {chip} need for one vector?", 5, 50),
    ("sparse", "`{word}` skips zero blocks of «{number} elements» in a product.",
     "What block size of zeros can sparse products on {chip} skip?", 4, 32),
    ("texture", "[Interpolated loads|Loads with interpolation] through `{word}` take «{number} <cycles>».",
     "Latency of an interpolated load on {chip}?", 20, 90),
)  # fmt: skip
"""What only the sibling has: key, sentence, question, and the range of the number."""


def features(by: Scribe, word: Callable[[], str]) -> list[Block]:
    """What only the sibling has."""
    paragraphs = [
        Paragraph(by.marked(f"feature.{key}", text, word=word(), number=by.style.chance.randrange(low, high)))
        for key, text, _, low, high in FEATURES
    ]
    return [by.section("[Only on {chip}|What other members of the family lack]", paragraphs)]
