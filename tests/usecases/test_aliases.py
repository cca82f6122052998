"""Which other names of a target its documents' titles give."""

from pathlib import Path

import pytest

from kb.targets import Targets
from kb.usecases.aliases import offered_aliases

KNOWN = Targets.load(Path("/nowhere")).with_new("k230", aliases=["canaan-k230"]).with_new("gizmo")


@pytest.mark.parametrize(
    ("target", "titles", "offered"),
    [
        ("k230", ["Kendryte K230 SDK Guide", "Kendryte K230 boot", "Install"], ["kendryte k230"]),
        ("k230", ["Kendryte K230 SDK Guide"], ["kendryte k230"]),
        ("k230", ["Kendryte K230 SDK Guide", "Install"], []),
        ("k230", ["The K230 guide", "Using K230 with care", "K230 SDK", "about K230"], []),
        ("k230", ["Canaan K230 guide", "Canaan K230 boot"], []),
        ("gizmo", ["GX100 guide", "Errata of the GX100", "Notes v2"], ["gx100"]),
        ("gizmo", ["GX100 guide", "GX200 guide", "GX300 guide", "GX400 guide", "GX500 guide"], []),
        ("gizmo", ["MI300X and the gizmo", "MI300X again"], []),
        ("gizmo", [], []),
    ],
)
def test_a_name_that_most_titles_share_is_offered(target: str, titles: list[str], offered: list[str]) -> None:
    assert [offer.alias for offer in offered_aliases(KNOWN, target, titles)] == offered
