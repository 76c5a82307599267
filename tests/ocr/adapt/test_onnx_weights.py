"""Weights of ONNX files are read in order and assigned by kind and shape; a file of another network is an error."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import mindspore as ms
import numpy as np
import onnx
import pytest
from mindspore import Tensor, nn
from numpy.typing import NDArray

from hccl_kit.base.errors import KitError
from hccl_kit.ocr import rapidocr
from hccl_kit.ocr.adapt import onnx_weights, pretrained
from hccl_kit.ocr.models.ppocr import lines
from hccl_kit.ocr.models.ppocr.lcnet_v3 import Affine
from tests.ocr.models.ppocr.test_lines import SMALL, TINY

pytestmark = pytest.mark.train

Array = NDArray[np.float32]
node = onnx.helper.make_node
GENERATOR = np.random.default_rng(0)


def numbers(*shape: int) -> Array:
    return GENERATOR.standard_normal(shape).astype(np.float32)


class Toy(nn.Cell):
    """A convolution, a normalisation and a classifier."""

    def __init__(self, channels: int = 4, classes: int = 5) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, channels, 3, pad_mode="pad", padding=1, has_bias=True)
        self.norm = nn.BatchNorm2d(channels)
        self.head = nn.Dense(channels, classes)

    def construct(self, x: Tensor) -> Tensor:
        return self.head(ms.ops.mean(self.norm(self.conv(x)), (2, 3)))


def write_nodes(path: Path, nodes: list[onnx.NodeProto], rows: Mapping[str, Array]) -> None:
    """A file with the nodes from `x` to `y` and these weights."""
    weights = [onnx.numpy_helper.from_array(row, name) for name, row in rows.items()]
    ends = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in ("x", "y")]
    graph = onnx.helper.make_graph(nodes, "toy", ends[:1], ends[1:], weights)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 11)], ir_version=8), path)


def write(path: Path, *, characters: str | None = None) -> dict[str, Array]:
    """The toy network as exported by PaddleOCR: numbered names, an Identity, and biases in an Add."""
    arrays = {
        "conv2d_7.w_0": numbers(4, 3, 3, 3),
        "reshape.0": numbers(1, 4, 1, 1),
        "bn.w_0": numbers(4),
        "bn.b_0": numbers(4),
        "bn.w_1": numbers(4),
        "bn.w_2": np.abs(numbers(4)) + 0.5,
        "linear_0.w_0": numbers(4, 5),
        "linear_0.b_0": numbers(5),
        "half": np.array(0.5, np.float32),
    }
    nodes = [
        node("Identity", ["conv2d_7.w_0"], ["w"]),
        node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1]),
        node("Add", ["a", "reshape.0"], ["b"]),
        node("BatchNormalization", ["b", "bn.w_0", "bn.b_0", "bn.w_1", "bn.w_2"], ["c"], epsilon=1e-5),
        node("ReduceMean", ["c"], ["d"], axes=[2, 3], keepdims=0),
        node("MatMul", ["d", "linear_0.w_0"], ["e"]),
        node("Add", ["e", "linear_0.b_0"], ["f"]),
        node("Mul", ["f", "half"], ["y"]),
    ]
    write_nodes(path, nodes, arrays)
    if characters is not None:
        model = onnx.load(path)
        onnx.helper.set_model_props(model, {"character": characters})
        onnx.save(model, path)
    return arrays


def load(path: Path, network: nn.Cell, classes: Sequence[str | None] = ()) -> list[str]:
    return pretrained.load(path, network, strict=True, classes=classes)


def test_every_parameter_gets_its_value(tmp_path: Path) -> None:
    arrays = write(tmp_path / "toy.onnx")
    network = Toy().set_train(False)
    assert load(tmp_path / "toy.onnx", network) == [f"{tmp_path}/toy.onnx: 8 of 8 parameters are taken"]
    assert np.array_equal(network.conv.bias.asnumpy(), arrays["reshape.0"].reshape(-1))
    assert np.array_equal(network.norm.moving_variance.asnumpy(), arrays["bn.w_2"])
    assert np.array_equal(network.head.weight.asnumpy(), arrays["linear_0.w_0"].T)
    images = numbers(2, 3, 6, 7)
    import onnxruntime  # noqa: PLC0415  # an extra

    session = onnxruntime.InferenceSession(tmp_path / "toy.onnx")
    assert np.allclose(network(Tensor(images)).asnumpy() / 2, session.run(None, {"x": images})[0], atol=1e-5)


def test_characters_keep_their_rows_and_new_ones_start_with_the_mean(tmp_path: Path) -> None:
    """The file has the blank first and the space last; the network has the space third and the blank last."""
    arrays = write(tmp_path / "toy.onnx", characters="a\nb\nc")
    network = Toy(classes=4)
    notes = load(tmp_path / "toy.onnx", network, ("c", "z", " ", None))
    given = arrays["linear_0.w_0"].T
    assert np.array_equal(network.head.weight.asnumpy()[[0, 2, 3]], given[[3, 4, 0]])
    assert np.allclose(network.head.weight.asnumpy()[1], given[1:].mean(axis=0))
    assert np.allclose(network.head.bias.asnumpy()[1], arrays["linear_0.b_0"][1:].mean())
    assert notes[0] == f"{tmp_path}/toy.onnx: 1 characters are new: 'z'; 2 of 5 classes are left out"


def test_a_dictionary_without_common_characters_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "toy.onnx", characters="a\nb\nc")
    with pytest.raises(KitError, match="no character in common with the configuration's"):
        load(tmp_path / "toy.onnx", Toy(classes=3), ("x", "y", None))


def test_a_dictionary_of_another_length_than_the_classifier_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "toy.onnx", characters="a\nb")
    with pytest.raises(KitError, match="expected 4 classes for its dictionary"):
        load(tmp_path / "toy.onnx", Toy(classes=3), ("a", "b", None))


@pytest.mark.parametrize(
    ("network", "message"),
    [
        (
            Toy(channels=8),
            "layer 1 of the file is a convolution 4x3x3x3 with bias, that of this network, conv, a convolution",
        ),
        (nn.SequentialCell(nn.Dense(4, 5)), "it has 3 layers with weights, this network has 1"),
        (nn.SequentialCell(nn.Dense(3, 5), nn.Dense(5, 5), nn.Dense(5, 5)), "layer 1 .*, 0, a dense layer 5x3"),
    ],
)
def test_a_file_of_another_network_is_refused(tmp_path: Path, network: nn.Cell, message: str) -> None:
    write(tmp_path / "toy.onnx")
    with pytest.raises(KitError, match=message):
        load(tmp_path / "toy.onnx", network)


@pytest.mark.parametrize("kept", [0, 1, 40, 0.5, 0.99])
def test_a_truncated_file_is_damaged(tmp_path: Path, kept: float) -> None:
    write(tmp_path / "toy.onnx")
    whole = (tmp_path / "toy.onnx").read_bytes()
    (tmp_path / "cut.onnx").write_bytes(whole[: int(kept * len(whole)) if kept < 1 else int(kept)])
    with pytest.raises(KitError, match=r"cut\.onnx"):
        load(tmp_path / "cut.onnx", Toy())


def test_weights_in_other_files_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "toy.onnx")
    options = {"save_as_external_data": True, "size_threshold": 0, "location": "c"}
    onnx.save(onnx.load(tmp_path / "toy.onnx"), tmp_path / "b.onnx", **options)
    with pytest.raises(KitError, match=r"b\.onnx: it stores 'w' in another file"):
        load(tmp_path / "b.onnx", Toy())


def test_the_published_recogniser_gives_the_same_probabilities() -> None:
    """For a width that is not a multiple of any stride; within 1e-4, the published limit of this project."""
    pytest.importorskip("rapidocr")
    import onnxruntime  # noqa: PLC0415  # an extra

    file = rapidocr.path("rapidocr:rec")
    network = lines.build(SMALL).set_train(False)
    classes = (*rapidocr.characters("rapidocr:rec"), " ", None)
    pretrained.load(file, network, strict=True, classes=classes)
    images = np.random.default_rng(0).uniform(-1, 1, (2, 3, 48, 101)).astype(np.float32)
    found = network(Tensor(images)).asnumpy()
    expected = onnxruntime.InferenceSession(file).run(None, {"x": images})[0]
    assert np.abs(np.roll(found, 1, axis=2) - expected).max() < 1e-4


def test_the_layers_of_a_file_are_read_in_order(tmp_path: Path) -> None:
    write(tmp_path / "toy.onnx", characters="a\nb\n　")
    found = onnx_weights.read(tmp_path / "toy.onnx")
    assert [str(layer) for layer in found.layers] == [
        "convolution 4x3x3x3 with bias",
        "batch normalisation 4",
        "dense layer 5x4 with bias",
    ]
    assert rapidocr.listed_characters(found.metadata) == ("a", "b", "　")


class Mobile(nn.Cell):
    """A folded convolution, a scale and an offset, and a folded transposed convolution, like in PP-OCRv5."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 1, has_bias=True)
        self.affine = Affine()
        self.double = nn.Conv2dTranspose(4, 2, 2, stride=2, pad_mode="valid", has_bias=True)

    def construct(self, x: Tensor) -> Tensor:
        return self.double(self.affine(self.conv(x)))


def write_mobile(path: Path) -> None:
    """The same network with two normalisations that are not folded."""
    first, second = [f"n{place}" for place in range(4)], [f"m{place}" for place in range(4)]
    arrays = {
        "w": numbers(4, 3, 1, 1),
        "s": numbers(1),
        "o": numbers(1),
        "t": numbers(4, 2, 2, 2),
        "b": numbers(1, 2, 1, 1),
        **{name: np.abs(numbers(4)) + 0.1 for name in first},
        **{name: np.abs(numbers(2)) + 0.1 for name in second},
    }
    nodes = [
        node("Conv", ["x", "w"], ["a"]),
        node("BatchNormalization", ["a", *first], ["c"], epsilon=1e-5),
        node("Mul", ["s", "c"], ["d"]),
        node("Identity", ["d"], ["e"]),
        node("Add", ["e", "o"], ["f"]),
        node("ConvTranspose", ["f", "t"], ["g"], strides=[2, 2]),
        node("Add", ["g", "b"], ["h"]),
        node("BatchNormalization", ["h", *second], ["y"], epsilon=1e-5),
    ]
    write_nodes(path, nodes, arrays)


def test_normalisations_that_the_network_lacks_are_folded(tmp_path: Path) -> None:
    import onnxruntime  # noqa: PLC0415  # an extra

    write_mobile(tmp_path / "a.onnx")
    network = Mobile()
    assert load(tmp_path / "a.onnx", network) == [f"{tmp_path}/a.onnx: 6 of 6 parameters are taken"]
    images = numbers(2, 3, 5, 6)
    (expected,) = onnxruntime.InferenceSession(tmp_path / "a.onnx").run(None, {"x": images})
    assert np.allclose(network(Tensor(images)).asnumpy(), expected, atol=1e-4)


def test_a_normalisation_of_another_size_is_not_folded(tmp_path: Path) -> None:
    """A damaged file: its layers are counted, and nothing is read beyond its end."""
    write_mobile(tmp_path / "a.onnx")
    layers = list(onnx_weights.read(tmp_path / "a.onnx").layers)
    layers[1] = layers[4]
    with pytest.raises(KitError, match="it has 5 layers with weights, this network has 3"):
        onnx_weights.place(tuple(layers), Mobile())


def test_a_scalar_bias_is_found_behind_an_identity(tmp_path: Path) -> None:
    """Like at the end of a detector."""
    nodes = [
        node("ConvTranspose", ["x", "w"], ["a"], strides=[2, 2]),
        node("Identity", ["a"], ["b"]),
        node("Add", ["b", "bias"], ["c"]),
        node("Mul", ["c", "half"], ["y"]),
    ]
    rows = {"w": numbers(4, 1, 2, 2), "bias": np.full((1, 1, 1, 1), 7, np.float32), "half": np.array([0.5], np.float32)}
    write_nodes(tmp_path / "end.onnx", nodes, rows)
    (layer,) = onnx_weights.read(tmp_path / "end.onnx").layers
    assert layer.kind == onnx_weights.TRANSPOSED
    assert layer.arrays["bias"].tolist() == [7]


def test_an_onnx_file_for_a_network_with_branches_is_refused_with_the_key(tmp_path: Path) -> None:
    write(tmp_path / "toy.onnx")
    network = lines.build({**TINY, "backbone": {**TINY["backbone"], "branches": True}})
    with pytest.raises(KitError, match="has the weights of another network") as caught:
        pretrained.load(tmp_path / "toy.onnx", network, strict=True)
    assert caught.value.hint is not None
    assert "model.backbone.branches: False" in caught.value.hint


@pytest.mark.parametrize("is_turned", [False, True])
def test_a_dense_layer_may_be_a_gemm_of_either_form(tmp_path: Path, is_turned: bool) -> None:
    weight, bias = numbers(5, 4), numbers(5)
    given = weight if is_turned else np.ascontiguousarray(weight.T)
    gemm = node("Gemm", ["x", "w", "b"], ["y"], transB=int(is_turned))
    write_nodes(tmp_path / "a.onnx", [gemm], {"w": given, "b": bias})
    network = nn.SequentialCell(nn.Dense(4, 5))
    load(tmp_path / "a.onnx", network)
    assert np.array_equal(network[0].weight.asnumpy(), weight)
    assert np.array_equal(network[0].bias.asnumpy(), bias)


def test_a_bias_that_the_network_lacks_is_not_dropped(tmp_path: Path) -> None:
    write_nodes(tmp_path / "a.onnx", [node("Gemm", ["x", "w", "b"], ["y"])], {"w": numbers(4, 5), "b": numbers(5)})
    with pytest.raises(KitError, match=r"a dense layer 5x4 with bias, that of this network, 0, a dense layer 5x4$"):
        load(tmp_path / "a.onnx", nn.SequentialCell(nn.Dense(4, 5, has_bias=False)))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (onnx.TensorProto(name="w", data_type=99, dims=[4, 5], raw_data=b"\0" * 80), "damaged"),
        (onnx.TensorProto(name="w", data_type=1, dims=[-4, 5], raw_data=b"\0" * 80), r"has the dimensions \[-4, 5\]"),
        (onnx.TensorProto(name="w", data_type=1, dims=[1 << 40, 5], raw_data=b"\0" * 80), "damaged"),
        (onnx.numpy_helper.from_array(np.full((4, 5), np.nan, np.float32), "w"), "not finite"),
    ],
)
def test_a_hostile_tensor_in_a_constant_is_one_line(tmp_path: Path, row: onnx.TensorProto, message: str) -> None:
    constant = node("Constant", [], ["w"])
    constant.attribute.add(name="value", type=onnx.AttributeProto.TENSOR).t.CopyFrom(row)
    write_nodes(tmp_path / "a.onnx", [constant, node("MatMul", ["x", "w"], ["y"])], {})
    with pytest.raises(KitError, match=message):
        load(tmp_path / "a.onnx", nn.SequentialCell(nn.Dense(4, 5, has_bias=False)))


def test_a_cycle_of_identities_terminates(tmp_path: Path) -> None:
    nodes = [node("MatMul", ["x", "w"], ["y"]), node("Identity", ["y"], ["y"])]
    write_nodes(tmp_path / "a.onnx", nodes, {"w": numbers(4, 5)})
    with pytest.raises(KitError, match="damaged"):
        load(tmp_path / "a.onnx", nn.SequentialCell(nn.Dense(4, 5, has_bias=False)))
