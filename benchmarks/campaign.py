"""Make the result of a campaign, and the table of a page, from its export.

    kb export CAMPAIGN --as trajectories --output EXPORT
    python -m benchmarks.campaign EXPORT --out benchmarks/results/campaign-NAME.json --page README.md

The table replaces what stands in the page between the lines `<!-- campaign NAME -->` and `<!-- end -->`, where NAME is
that of the result's file.
"""

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

from benchmarks.origin import write_result
from kb.campaign.results import Mean, Result, Summary, comparisons, summaries

LIBRARIES = ("kb-hardware",)
HEADER = """\
| level | precision | target | arm | tasks | best correct | without a win 1.0 | wins alone | fast_1 | correct |
|---|---|---|---|---|---|---|---|---|---|"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("export", type=Path, help="the folder that kb export wrote")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--page", type=Path, help="a Markdown page whose table is replaced")
    options = parser.parse_args()
    lines = (options.export / "results.jsonl").read_text(encoding="utf-8").splitlines()
    results = [Result.model_validate_json(line) for line in lines]
    found = summaries(results)
    write_result(
        options.out,
        {
            "summaries": [one.model_dump(mode="json") for one in found],
            "comparisons": [one.model_dump(mode="json") for one in comparisons(results)],
            "results": [one.model_dump(mode="json") for one in results],
        },
        LIBRARIES,
    )
    if options.page:
        page = options.page.read_text(encoding="utf-8")
        options.page.write_text(with_table(page, options.out.stem, table(found)), encoding="utf-8")


def table(found: Sequence[Summary]) -> str:
    """The summaries as a table in Markdown."""
    rows = [
        (s.group, s.precision, s.target, s.arm, str(s.begun), *map(_cell, (s.as_it_is, s.with_losses, s.wins)),
         _cell(s.fast_1), _cell(s.correct))
        for s in found
    ]  # fmt: skip
    return "\n".join([HEADER, *(f"| {' | '.join(row)} |" for row in rows)])


def with_table(page: str, name: str, text: str) -> str:
    """The page with this table in its place. Raises ValueError if it has no place for it."""
    place = re.compile(rf"(<!-- campaign {re.escape(name)} -->\n).*?(<!-- end -->)", re.S)
    if not place.search(page):
        raise ValueError(f"the page has no lines <!-- campaign {name} --> and <!-- end -->")
    return place.sub(lambda found: f"{found[1]}\n{text}\n\n{found[2]}", page)


def _cell(mean: Mean | None) -> str:
    interval = f" ({mean.low:.2f} to {mean.high:.2f}; {mean.tasks})" if mean and mean.tasks > 1 else ""
    return f"{mean.value:.2f}{interval}" if mean else ""


if __name__ == "__main__":
    main()
