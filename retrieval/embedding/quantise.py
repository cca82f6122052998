"""Quantise a compiled model to int8: bytes for weights and for what they are multiplied with, with fixed scales.

A product of bytes is several times faster than one of floats; everything else stays in float32. Each tensor has one
scale, which would be coarse where a few channels have large values, as in all transformers. SmoothQuant moves part of
their size into the weights (Xiao et al., 2023, https://arxiv.org/abs/2211.10438, equation 4).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from onnx import GraphProto, NodeProto

SMOOTHING = 0.7
"""The exponent alpha: the share of a channel's size that moves into the weights. 0.6 and 0.8 gave worse vectors."""
_SMALLEST = 1e-5
"""Stands for the size of a channel that is always zero."""


def quantise(model: Path, out: Path, texts: Sequence[Sequence[int]]) -> None:
    """Write the model in file `model` to `out`, with its products with weights in int8.

    Args:
        texts: Token ids of texts; the least and the largest values that they give set the scales.
    """
    import onnx

    low, high = _ranges(model, out.with_name("observed.onnx"), texts)
    proto = onnx.load(model)
    weights = {w.name: onnx.numpy_helper.to_array(w) for w in proto.graph.initializer}
    products: dict[str, list[NodeProto]] = {}
    for node in _products(proto.graph):
        products.setdefault(node.input[0], []).append(node)
    instead: dict[str, list[NodeProto]] = {}
    for source, nodes in products.items():
        channels = np.concatenate([np.abs(weights[node.input[1]]) for node in nodes], axis=1).max(axis=1)
        size = np.maximum(np.maximum(high[source], -low[source]), _SMALLEST)
        smoothing = (size**SMOOTHING / np.maximum(channels, _SMALLEST) ** (1 - SMOOTHING)).astype(np.float32)
        rounded = _rounded_input(proto.graph, source, smoothing, low[source], high[source])
        for node in nodes:
            product = _rounded_product(proto.graph, node, weights[node.input[1]] * smoothing[:, None])
            instead[node.output[0]] = [*rounded, *product]
            rounded = []
    ordered = [new for node in proto.graph.node for new in instead.get(node.output[0], [node])]
    del proto.graph.node[:]
    proto.graph.node.extend(ordered)
    _drop_unused(proto.graph)
    onnx.save(proto, out, save_as_external_data=True, location=f"{out.name}.data")


def _products(graph: "GraphProto") -> "list[NodeProto]":
    """The products of a tensor with a constant matrix."""
    matrices = {weight.name for weight in graph.initializer if len(weight.dims) == 2}
    return [node for node in graph.node if node.op_type == "MatMul" and node.input[1] in matrices]


def _ranges(
    model: Path, observed: Path, texts: Sequence[Sequence[int]]
) -> tuple[dict[str, NDArray[np.float32]], dict[str, NDArray[np.float32]]]:
    """The least and the largest value (channels,) of each tensor that is multiplied with weights.

    Args:
        observed: A file for a copy of the model that returns these tensors; it is deleted.
    """
    import onnx
    import onnxruntime

    proto = onnx.load(model)
    names = list(dict.fromkeys(node.input[0] for node in _products(proto.graph)))
    proto.graph.output.extend(onnx.helper.make_empty_tensor_value_info(name) for name in names)
    onnx.save(proto, observed, save_as_external_data=True, location=f"{observed.name}.data")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(observed), options, providers=["CPUExecutionProvider"])
    low: dict[str, NDArray[np.float32]] = {}
    high: dict[str, NDArray[np.float32]] = {}
    for tokens in texts:
        for name, values in zip(names, session.run(names, {"input_ids": np.array([tokens])}), strict=True):
            rows = values.reshape(-1, values.shape[-1])
            low[name] = np.minimum(low.get(name, np.float32(0)), rows.min(axis=0))
            high[name] = np.maximum(high.get(name, np.float32(0)), rows.max(axis=0))
    observed.unlink()
    observed.with_name(f"{observed.name}.data").unlink()
    return low, high


def _rounded_input(
    graph: "GraphProto", source: str, smoothing: NDArray[Any], low: NDArray[Any], high: NDArray[Any]
) -> "list[NodeProto]":
    """Nodes that round the tensor `source` to bytes; the result is `{source}.rounded`."""
    from onnx.helper import make_node

    least, most = (low / smoothing).min(), (high / smoothing).max()
    scale = np.float32((most - least) / 255)
    factor = _constant(graph, f"{source}.factor", (1 / smoothing).astype(np.float32))
    scales = [
        _constant(graph, f"{source}.scale", scale),
        _constant(graph, f"{source}.zero", np.uint8(round(float(-least / scale)))),
    ]
    return [
        make_node("Mul", [source, factor], [f"{source}.smooth"]),
        make_node("QuantizeLinear", [f"{source}.smooth", *scales], [f"{source}.bytes"]),
        make_node("DequantizeLinear", [f"{source}.bytes", *scales], [f"{source}.rounded"]),
    ]


def _rounded_product(graph: "GraphProto", node: "NodeProto", weight: NDArray[Any]) -> "list[NodeProto]":
    """Nodes for a product whose weights are bytes; each column has a scale."""
    from onnx.helper import make_node

    scale = (np.maximum(np.abs(weight).max(axis=0), _SMALLEST) / 127).astype(np.float32)
    name = node.output[0]
    stored = [
        _constant(graph, f"{name}.bytes", np.round(weight / scale).astype(np.int8)),
        _constant(graph, f"{name}.scale", scale),
    ]
    return [
        make_node("DequantizeLinear", stored, [f"{name}.weight"], axis=1),
        make_node("MatMul", [f"{node.input[0]}.rounded", f"{name}.weight"], [name], node.name),
    ]


def _constant(graph: "GraphProto", name: str, value: NDArray[Any] | np.generic) -> str:
    from onnx.numpy_helper import from_array

    graph.initializer.append(from_array(np.asarray(value), name))
    return name


def _drop_unused(graph: "GraphProto") -> None:
    used = {name for node in graph.node for name in node.input}
    kept = [weight for weight in graph.initializer if weight.name in used]
    del graph.initializer[:]
    graph.initializer.extend(kept)
