"""Products with weights are rounded to bytes, all else stays exact; large channels do not make the others coarse."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto
from onnx.helper import make_graph, make_model, make_node, make_opsetid, make_tensor_value_info
from onnx.numpy_helper import from_array, to_array

from retrieval.embedding.precision import is_fast_at_int8
from retrieval.embedding.quantise import quantise

TOKENS, CHANNELS, OUTPUTS = 50, 64, 32
TEXTS = [list(range(start, start + 10)) for start in range(0, TOKENS, 10)]


def save_model(file: Path, *, largest: float) -> None:
    """Write a model that looks up a row for each token and multiplies it with weights, then with itself.

    The values of one channel are `largest`; of all others, below 1.
    """
    random = np.random.default_rng(0)
    rows = random.uniform(-1, 1, (TOKENS, CHANNELS)).astype(np.float32)
    rows[:, 7] = largest * np.sign(rows[:, 7])
    weights = random.uniform(-1, 1, (CHANNELS, OUTPUTS)).astype(np.float32)
    weights[7] /= largest
    graph = make_graph(
        [
            make_node("Gather", ["rows", "input_ids"], ["x"]),
            make_node("MatMul", ["x", "weights"], ["y"]),
            make_node("Transpose", ["y"], ["t"], perm=[0, 2, 1]),
            make_node("MatMul", ["y", "t"], ["z"]),
        ],
        "model",
        [make_tensor_value_info("input_ids", TensorProto.INT64, [1, None])],
        [make_tensor_value_info("y", TensorProto.FLOAT, None), make_tensor_value_info("z", TensorProto.FLOAT, None)],
        [from_array(rows, "rows"), from_array(weights, "weights")],
    )
    onnx.save(make_model(graph, opset_imports=[make_opsetid("", 20)], ir_version=10), file)


def outputs(file: Path) -> tuple[np.ndarray, np.ndarray]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    if not is_fast_at_int8():  # its products of bytes could overflow; the embedder does the same
        options.add_session_config_entry("session.disable_quant_qdq", "1")
    session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    y, z = session.run(None, {"input_ids": np.array([TEXTS[0]])})
    return y, z


@pytest.mark.parametrize("largest", [1, 100])
def test_the_products_keep_their_values_to_a_hundredth(tmp_path: Path, largest: float) -> None:
    save_model(tmp_path / "exact.onnx", largest=largest)
    quantise(tmp_path / "exact.onnx", tmp_path / "model.onnx", TEXTS)

    exact, rounded = outputs(tmp_path / "exact.onnx")[0], outputs(tmp_path / "model.onnx")[0]

    assert 0 < np.abs(exact - rounded).mean() < 0.01 * np.abs(exact).mean()


def test_only_products_with_weights_are_in_bytes(tmp_path: Path) -> None:
    save_model(tmp_path / "exact.onnx", largest=1)
    quantise(tmp_path / "exact.onnx", tmp_path / "model.onnx", TEXTS)

    graph = onnx.load(tmp_path / "model.onnx").graph
    y, z = outputs(tmp_path / "model.onnx")

    stored = {weight.name: to_array(weight).dtype for weight in graph.initializer}
    assert stored["y.bytes"] == np.int8
    assert "weights" not in stored
    np.testing.assert_allclose(z, y @ y.transpose(0, 2, 1), rtol=1e-4)


def test_no_other_file_is_left(tmp_path: Path) -> None:
    save_model(tmp_path / "exact.onnx", largest=1)
    quantise(tmp_path / "exact.onnx", tmp_path / "model.onnx", TEXTS)

    assert {file.name for file in tmp_path.iterdir()} <= {"exact.onnx", "model.onnx", "model.onnx.data"}
