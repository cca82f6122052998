"""Changed values keep what a task promises about its inputs, are of all kinds, and depend only on their seed."""

import pytest
import torch  # noqa: TID253 - what is tested computes with it
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.oracle.reference import Reference
from eval.oracle.values import DISTRIBUTIONS, FACTORS, RARE, Structure, change_values, learn_structures
from tests.eval.test_cases import task_of

SHAPES = st.lists(st.integers(0, 9), max_size=3).map(tuple)
TYPES = st.sampled_from([torch.float64, torch.float32, torch.bfloat16, torch.float16])
SEEDS = st.integers(0, 2**62)
SOME_KINDS = st.lists(st.sampled_from((*DISTRIBUTIONS, "coarse")), min_size=1, unique=True)

DRAWN = {
    "nothing promised": ("torch.rand(N, N)", Structure.FREE),
    "bfloat16, in which a few zeros are drawn by chance": ("torch.rand(N, N, dtype=torch.bfloat16)", Structure.FREE),
    "one value": ("torch.randn(1)", Structure.FREE),
    "two values that happen to be sorted": ("torch.randn(2).sort().values", Structure.FREE),
    "rectified: half of the values are zero": ("torch.relu(torch.randn(N, N))", Structure.SPARSE),
    "triangular": ("torch.tril(torch.rand(N, N))", Structure.SPARSE),
    "diagonal": ("torch.diag(torch.randn(N))", Structure.SPARSE),
    "banded": ("torch.rand(N, N).tril(1).triu(-1)", Structure.SPARSE),
    "symmetric": ("(lambda a: (a + a.T) / 2)(torch.randn(N, N))", Structure.SYMMETRIC),
    "sorted": ("torch.randn(N, N).sort(-1).values", Structure.DRAWN),
    "descending": ("torch.randn(N).sort(descending=True).values", Structure.DRAWN),
    "rows that sum to one": ("torch.randn(N, N).softmax(-1)", Structure.DRAWN),
    "columns that sum to one": ("torch.randn(N, N).softmax(0)", Structure.DRAWN),
    "rows of length one": ("nn.functional.normalize(torch.randn(N, N), dim=-1)", Structure.DRAWN),
    "signs": ("torch.randint(0, 2, (N,)).float() * 2 - 1", Structure.DRAWN),
    "one-hot": ("nn.functional.one_hot(torch.randint(9, (N,)), 9).float()", Structure.DRAWN),
    "whole numbers": ("torch.randint(0, 9, (N,)).float()", Structure.DRAWN),
    "two values": ("torch.rand(N).round() * 0.5 + 0.1", Structure.DRAWN),
    "one number": ("torch.full((N, N), 0.5)", Structure.CONSTANT),
    "ones, expanded": ("torch.ones(1).expand(N)", Structure.CONSTANT),
    "a number of no dimensions": ("torch.tensor(0.5)", Structure.DRAWN),
    "a mask with infinities": ("torch.full((N, N), -torch.inf).triu(1)", Structure.MASK),
    "a mask of truth values": ("torch.ones(N, N, dtype=torch.bool).tril()", Structure.MASK),
    "a mask of integers": ("(torch.arange(N) < 9).int()", Structure.MASK),
    "a matrix of signs": ("torch.ones(N, N).tril() * 2 - 1", Structure.DRAWN),
    "one integer": ("torch.full((N,), 7)", Structure.SAME),
    "one truth value": ("torch.zeros(N, dtype=torch.bool)", Structure.SAME),
    "zeros": ("torch.zeros(N, dtype=torch.int64)", Structure.DRAWN),
    "positions": ("torch.arange(N)", Structure.DRAWN),
    "one column many times": ("torch.randn(N, 1).expand(N, N)", Structure.FREE),
    "always the same": ("torch.linspace(0.1, 0.9, N).flip(0).sin()", Structure.DRAWN),
    "integers": ("torch.randint(0, 9, (N,))", Structure.INTEGERS),
    "rows of integers": ("torch.randint(-9, 9, (N, N), dtype=torch.int8)", Structure.INTEGERS),
    "bytes": ("torch.randint(0, 256, (N, N), dtype=torch.uint8)", Structure.INTEGERS),
    "truth values": ("torch.rand(N) < 0.5", Structure.TRUTHS),
    "integers of two values": ("torch.randint(0, 2, (N, N))", Structure.DRAWN),
    "a permutation": ("torch.randperm(N)", Structure.DRAWN),
    "a permutation in each row": ("torch.rand(N, N).argsort(-1)", Structure.DRAWN),
    "a permutation in each column": ("torch.rand(N, N).argsort(0)", Structure.DRAWN),
    "ends of segments": ("torch.randint(0, 9, (N,)).cumsum(0)", Structure.DRAWN),
}


@pytest.mark.parametrize(("drawn", "structure"), DRAWN.values(), ids=DRAWN)
def test_the_structure_of_an_input_is_learned_from_two_draws(drawn: str, structure: Structure) -> None:
    assert learn_structures(Reference(task_of(drawn=drawn), seed=0)) == [structure]


@given(SHAPES, TYPES, SEEDS, SOME_KINDS)
@settings(max_examples=200, deadline=None)
def test_values_of_all_kinds_and_shapes_keep_shape_and_type_and_depend_only_on_the_seed(
    shape, dtype, seed, kinds
) -> None:
    x = torch.randn(shape).to(dtype)
    before = x.clone()

    [one], [other] = (change_values([x], [Structure.FREE], kinds, seed) for _ in range(2))

    assert (one.shape, one.dtype) == (x.shape, dtype)
    assert torch.equal(one.nan_to_num(), other.nan_to_num())
    assert torch.equal(x, before)


@given(st.integers(2, 20), SEEDS, SOME_KINDS, st.sampled_from([Structure.SPARSE, Structure.SYMMETRIC]))
@settings(max_examples=100, deadline=None)
def test_zeros_and_symmetry_are_kept_by_every_kind(size: int, seed: int, kinds, structure: Structure) -> None:
    x = torch.randn(size, size)
    x = x.triu() if structure is Structure.SPARSE else x + x.T

    [changed] = change_values([x], [structure], kinds, seed)

    assert torch.equal(changed == 0, x == 0)
    assert structure is Structure.SPARSE or torch.equal(changed, changed.T)


@given(SEEDS, SOME_KINDS)
def test_what_is_only_drawn_is_not_changed(seed: int, kinds) -> None:
    inputs = [torch.eye(4), torch.arange(4), 2.5, None]

    changed = change_values(inputs, [Structure.DRAWN] * 4, kinds, seed)

    assert all(a is b or torch.equal(a, b) for a, b in zip(inputs, changed, strict=True))


@given(st.integers(1, 20), st.integers(1, 20), SEEDS, SOME_KINDS)
def test_integers_stay_numbers_that_were_drawn_for_their_row(rows: int, columns: int, seed: int, kinds) -> None:
    x = torch.randint(-50, 50, (rows, columns), generator=torch.Generator().manual_seed(seed))

    [changed] = change_values([x], [Structure.INTEGERS], kinds, seed)

    assert all(set(row.tolist()) <= set(before.tolist()) for row, before in zip(changed, x, strict=True))


def test_a_number_that_is_always_the_same_becomes_others_of_its_sign() -> None:
    x = torch.tensor([[0.0] * 9, [2.0] * 9])

    [changed] = change_values([x], [Structure.CONSTANT], ["noise", "wide"], 7)

    assert bool((changed >= 0).all())
    assert changed.unique().numel() > 9


@pytest.mark.parametrize(
    ("x", "range_"),
    [
        (torch.full((3, 99), 9), (1, 9)),
        (torch.full((99,), -9, dtype=torch.int8), (-9, -1)),
        (torch.ones(2, 99, dtype=torch.int32), (0, 1)),
        (torch.zeros(99, dtype=torch.bool), (0, 1)),
        (torch.ones(1, 99, dtype=torch.bool), (0, 1)),
        (torch.full((9,), -(1 << 63)), (-(1 << 62), -1)),
        (torch.full((99, 1), 9), (1, 9)),
    ],
)
def test_integers_that_are_always_one_number_become_smaller_ones_but_the_first(
    x: torch.Tensor, range_: tuple[int, int]
) -> None:
    [changed] = change_values([x], [Structure.SAME], ["others"], 7)

    assert (changed.shape, changed.dtype) == (x.shape, x.dtype)
    rows, others = changed.squeeze(), changed.squeeze()[..., 1:]
    assert torch.equal(rows[..., 0], x.squeeze()[..., 0])
    assert range_[0] <= int(others.min()) < int(others.max()) <= range_[1]


@pytest.mark.parametrize("shape", [(9, 9), (1, 1, 9, 9), (2, 9, 1, 9), (2, 9, 9)])
@pytest.mark.parametrize("kinds", [["rows"], ["given", "rows"]])
def test_a_mask_that_is_always_the_same_keeps_its_rows_in_another_order(
    shape: tuple[int, ...], kinds: list[str]
) -> None:
    mask = torch.full((9, 9), -torch.inf).triu(1)
    x = (mask if shape[-2] == 9 else mask[:, None]).expand(shape).clone()

    [changed] = change_values([x], [Structure.MASK], kinds, 7)

    assert not torch.equal(changed, x)
    known = {tuple(row.tolist()) for row in x.reshape(-1, 9)}
    assert {tuple(row.tolist()) for row in changed.reshape(-1, 9)} <= known


def test_a_mask_whose_rows_are_the_same_gets_its_columns_in_another_order() -> None:
    x = (torch.arange(99) < 50).expand(3, 99)

    [changed] = change_values([x], [Structure.MASK], ["rows"], 7)

    assert not torch.equal(changed, x)
    assert bool((changed == changed[0]).all())


def test_equal_integers_are_those_of_largest_magnitude() -> None:
    x = torch.tensor([[1, -3, 2], [4, -3, 2]])

    [changed] = change_values([x], [Structure.INTEGERS], ["equal"], 7)

    assert changed.tolist() == [[-3, -3, -3], [4, 4, 4]]


LOOKS = {
    "given": lambda x, given: torch.equal(x, given),
    "signs": lambda x, given: torch.equal(x.abs(), given) and 0.4 < float((x < 0).double().mean()) < 0.6,
    "wide": lambda x, given: float(x.max() / x.min()) > 1e5,
    "small": lambda x, given: float(x.max()) < 1e-3,
    "tiny": lambda x, given: float(x.square().max()) == 0 < float(x.min()),
    "large": lambda x, given: float(x.max()) > 100,
    "outliers": lambda x, given: 0 < int((x != given).sum()) <= x.numel() / RARE and float(x.max()) > 20,
    "equal": lambda x, given: bool((x == x[:, :1]).all()),
    "sorted": lambda x, given: bool((x.diff(dim=-1) >= 0).all()),
    "lone": lambda x, given: bool((x.amax(-1) / x.sum(-1) > 0.45).all()) and int((x != given).sum()) == len(x),
    "far": lambda x, given: (
        float(x.min()) > 100 * float(given.std()) and float((x.double() - given.double()).std()) < 1e-4
    ),
    "coarse": lambda x, given: (
        float(x.min()) > 100 * float(given.std())
        and bool((x != x.round()).all())
        and float((x.double() - given.double()).std()) < 0.5 * float(given.std())
        and torch.equal(x.view(torch.int32) & 0x1FFF, torch.zeros_like(x, dtype=torch.int32))
    ),
}


@pytest.mark.parametrize("kind", [*DISTRIBUTIONS, "coarse"])
def test_values_look_like_their_kind(kind: str) -> None:
    x = torch.rand(100, 200) + 0.01

    [changed] = change_values([x], [Structure.FREE], [kind], 7)

    assert LOOKS[kind](changed, x)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_only_float32_has_coarse_values(dtype: torch.dtype) -> None:
    x = torch.randn(9, 9).to(dtype)

    assert torch.equal(change_values([x], [Structure.FREE], ["coarse"], 7)[0], x)


@pytest.mark.parametrize("shape", [(88, 300), (1, 88, 300), (88, 3, 5, 20)])
def test_in_mixed_values_every_slice_has_a_kind_of_its_own(shape: tuple[int, ...]) -> None:
    x = torch.rand(shape) + 0.01

    [mixed] = change_values([x], [Structure.FREE], DISTRIBUTIONS, 7)

    rows, given_rows = (t.reshape(88, -1) for t in (mixed, x))
    same = int((rows == given_rows).all(dim=1).sum())
    negative = int((rows < 0).any(dim=1).sum())
    small = int(((rows.amax(dim=1) < 1e-3) & (rows.amax(dim=1) > 1e-9)).sum())
    assert negative == small == 88 / len(DISTRIBUTIONS)
    assert same < 2 * 88 / len(DISTRIBUTIONS), "those as given, and those in which there is no outlier"


def test_a_vector_of_mixed_values_is_cut_into_pieces() -> None:
    [mixed] = change_values([torch.rand(8000) + 0.01], [Structure.FREE], ["given", *FACTORS], 7)

    assert bool((mixed < 0).any())
    assert float(mixed.max()) > 100


def test_a_long_row_is_neither_equal_nor_sorted_as_a_whole() -> None:
    """An honest serial sum of such a row in float32 has an error that grows like its length."""
    x = torch.randn(4, 1 << 15)

    for kind in ("equal", "sorted"):
        [changed] = change_values([x], [Structure.FREE], [kind], 7)
        exact = changed.double().sum(-1)
        serial = torch.tensor([float(row.numpy().cumsum(dtype="float32")[-1]) for row in changed])
        scale = exact.abs() + changed.double().square().sum(-1).sqrt()
        assert float(((serial - exact).abs() / scale).max()) < 128 * torch.finfo(torch.float32).eps


def test_in_bfloat16_one_slice_along_each_dimension_counts_as_much_as_all_others() -> None:
    [changed] = change_values([torch.ones(64, 32, 16).bfloat16()], [Structure.FREE], ["lone"], 0)

    for dim in range(2):  # in the last one each row has its own place
        sums = changed.double().movedim(dim, 0).flatten(1).sum(1)
        assert float(sums.max()) > 0.4 * float(sums.sum())


@pytest.mark.parametrize("shape", [(1,), (7,), (1, 1), (3, 5), (2, 3, 4), (1, 8, 1, 6)])
def test_half_of_each_line_is_hidden_in_one_piece(shape: tuple[int, ...]) -> None:
    hidden = change_values([torch.randn(shape)], [Structure.EXPONENTS], ["hidden"], 0)[0].isinf()

    for dim, size in enumerate(shape):
        lines = hidden.movedim(dim, -1).reshape(-1, size)
        assert size == 1 or set(lines.sum(-1).tolist()) <= {size // 2, size - size // 2}
        assert size == 1 or bool((lines.diff(dim=-1).sum(-1) == 1).all())
    assert hidden.numel() > 1 or not bool(hidden)


@pytest.mark.parametrize(
    ("forward", "structure"),
    {
        "x.softmax(-1)": Structure.EXPONENTS,
        "(x - x.amax(-1, keepdim=True)).exp()": Structure.EXPONENTS,
        "(x - x.amax(-1, keepdim=True)).exp_()": Structure.EXPONENTS,
        "(x - x.amax(-1, keepdim=True)).exp2()": Structure.EXPONENTS,
        "nn.functional.scaled_dot_product_attention(*torch.ones(3, 1, N, N), attn_mask=x)": Structure.EXPONENTS,
        "nn.functional.scaled_dot_product_attention(x[None], x[None], x[None])": Structure.FREE,
        "x.log_softmax(-1)": Structure.EXPONENTS,
        "x.logcumsumexp(-1)": Structure.EXPONENTS,
        "x.softmax(-1).log()[:, :9]": Structure.FREE,
        "-x.log_softmax(-1)": Structure.FREE,
        "x.exp() @ x": Structure.FREE,
        "x.expand(2, N, N) + x.relu()": Structure.FREE,
    }.items(),
)
def test_only_what_takes_exponentials_may_be_hidden(forward: str, structure: Structure) -> None:
    assert learn_structures(Reference(task_of(forward, drawn="torch.randn(N, N)"), seed=0)) == [structure]


def test_one_input_alone_hides_some_of_its_values() -> None:
    inputs = [torch.zeros(8, 8), torch.zeros(8, 8), torch.zeros(8, 8, dtype=torch.bool)]
    structures = [Structure.EXPONENTS, Structure.FREE, Structure.HIDING]
    hiding = set()

    for seed in range(8):
        changed = change_values(inputs, structures, ["hidden"], seed)
        hiding.add(tuple(not torch.equal(a, b) for a, b in zip(changed, inputs, strict=True)))

    assert hiding == {(True, False, False), (False, False, True)}


@pytest.mark.parametrize(
    ("mask", "structure"),
    {
        "torch.rand(N, N) < 0.5": Structure.HIDING,
        "torch.arange(N) < torch.randint(1, N, (N, 1))": Structure.DRAWN,
        "torch.rand(N, N).argsort(-1) < 9": Structure.DRAWN,
    }.items(),
)
def test_truth_values_that_are_neither_sorted_nor_counted_may_hide_blocks(mask: str, structure: Structure) -> None:
    reference = Reference(task_of("torch.zeros(N, N).masked_fill(x, -torch.inf).softmax(-1)", drawn=mask), seed=0)

    assert learn_structures(reference) == [structure]
    given = reference.inputs(0)[0]
    [changed] = change_values([given], [structure], ["hidden"], 0)
    in_blocks = changed.dtype is torch.bool and bool((changed.sum(-1) == changed.shape[-1] // 2).all())
    assert in_blocks if structure is Structure.HIDING else torch.equal(changed, given)
