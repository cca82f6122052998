"""The committed comparison of runs over both devices follows from the committed results of each."""

import json

from tests.layout import ROOT

from benchmarks.skills_together import together

RESULTS = ROOT / "benchmarks" / "results"


def test_the_committed_comparison_follows_from_the_committed_results() -> None:
    committed = json.loads((RESULTS / "skills-together.json").read_bytes())

    found = together([RESULTS / name for name in committed["results"]])

    assert json.loads(json.dumps(found)) == committed
