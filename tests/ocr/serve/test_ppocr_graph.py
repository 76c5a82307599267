"""Exported PP-OCR networks: equal to the network at all sizes, and compatible with rapidocr."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mindspore import Tensor, nn

from hccl_kit.base.errors import KitError
from hccl_kit.ocr import config, rapidocr
from hccl_kit.ocr.adapt import pretrained
from hccl_kit.ocr.models.ppocr import lcnet_v4, lines
from hccl_kit.ocr.reader import networks
from hccl_kit.ocr.serve import export, export_metadata
from tests.ocr.models.ppocr import test_pages
from tests.ocr.models.ppocr.test_lines import MOBILE, SMALL, TINY
from tests.ocr.reader.test_engine import page
from tests.places import ROOT

runtime = pytest.importorskip("onnxruntime")  # part of the extra `export`
onnx = pytest.importorskip("onnx")
from hccl_kit.ocr.serve import ppocr_graph  # noqa: E402  # imports onnx
from hccl_kit.ocr.serve.onnx_graph import Graph  # noqa: E402

pytestmark = [pytest.mark.train, pytest.mark.usefixtures("pynative")]

LARGER = ("small", "medium")
"""Sizes with the same form as `tiny`."""
DETECTOR = ROOT / "configs/det/ppocr/v6_small_finetune.yaml"


def recogniser(classes: int, size: str = "tiny") -> nn.Cell:
    parts = {**networks.LINES, "backbone": {"name": "rec_pplcnet_v4", "size": size}}
    return lines.build({**parts, "head": {"name": "CTCHead", "out_channels": classes}}).set_train(False)


def detector(name: str = "tiny") -> nn.Cell:
    return test_pages.in_form(test_pages.ALL[name], branches=False, adaptive=False).set_train(False)


def output(path: Path, images: np.ndarray[Any, Any]) -> Any:
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    assert [one.name for one in session.get_inputs()] == ["x"]
    return session.run(["fetch_name_0"], {"x": images})[0]


@pytest.mark.parametrize(
    "name", ["tiny", *(pytest.param(name, marks=pytest.mark.long) for name in (*LARGER, "mobile"))]
)
def test_a_detector_file_supports_pages_of_all_sizes(tmp_path: Path, name: str) -> None:
    network, path = detector(name), tmp_path / "best.onnx"
    done = export.export(network, (1, 3, 64, 96), path, {})
    assert done.difference <= 1e-5
    for shape in ((1, 3, 64, 96), (2, 3, 96, 64), (1, 3, 32, 32)):
        images = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
        expected = network(Tensor(images)).asnumpy()
        assert expected.std() > 0.005
        assert np.abs(output(path, images) - expected).max() <= 1e-5


@pytest.mark.parametrize("size", ["tiny", pytest.param("small", marks=pytest.mark.long)])
def test_a_recogniser_file_supports_lines_of_all_widths_with_the_blank_first(tmp_path: Path, size: str) -> None:
    network, path = recogniser(5, size), tmp_path / "best.onnx"
    order = [4, 0, 2, 3, 1]  # the space is the second character of the dictionary
    done = export.export(network, (1, 3, 48, 64), path, {"character": "a\nb\nc"}, order)
    assert done.difference <= 1e-5
    for shape in ((1, 3, 48, 64), (3, 3, 48, 101)):
        images = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
        expected = network(Tensor(images)).asnumpy()
        assert np.abs(output(path, images) - expected[..., order]).max() <= 1e-5


def assert_taken(path: Path, network: nn.Cell, fresh: nn.Cell, classes: tuple[str | None, ...] = ()) -> None:
    """Asserts that all weights of the file, loaded like a user's file, are those of the network."""
    pretrained.load(path, fresh, strict=True, classes=classes)
    own = {parameter.name: parameter.asnumpy() for parameter in network.get_parameters()}
    for parameter in fresh.get_parameters():
        assert np.array_equal(parameter.asnumpy(), own[parameter.name]), parameter.name


@pytest.mark.parametrize("name", test_pages.ALL)
def test_a_detector_file_can_be_fine_tuned_again(tmp_path: Path, name: str) -> None:
    network = detector(name)
    onnx.save(ppocr_graph.model(network), tmp_path / "a.onnx")
    assert_taken(tmp_path / "a.onnx", network, detector(name))


@pytest.mark.parametrize("parts", [TINY, SMALL, MOBILE], ids=["tiny", "small", "mobile"])
def test_a_recogniser_file_without_characters_has_the_blank_first(tmp_path: Path, parts: dict[str, Any]) -> None:
    """Like PaddleOCR's files that were converted by other tools."""
    head = {"name": "CTCHead", "out_channels": 4}
    network, fresh = (lines.build({**parts, "head": head}) for _ in range(2))
    onnx.save(ppocr_graph.model(network, [3, 0, 1, 2]), tmp_path / "a.onnx")
    assert_taken(tmp_path / "a.onnx", network, fresh, ("a", "b", " ", None))


@pytest.mark.parametrize(
    "parts", [pytest.param(TINY, id="tiny", marks=pytest.mark.long), pytest.param(MOBILE, id="mobile")]
)
def test_other_necks_and_a_guided_head_are_supported(tmp_path: Path, parts: dict[str, Any]) -> None:
    head = {"name": "MultiHead", "out_channels": 4, "nrtr_dims": 32, "nrtr_layers": 1}
    network, path = lines.build({**parts, "head": head}).set_train(False), tmp_path / "best.onnx"
    done = export.export(network, (1, 3, 48, 64), path, {}, [3, 0, 1, 2])
    assert done.difference <= 1e-5
    images = np.random.default_rng(1).standard_normal((3, 3, 48, 101)).astype(np.float32)
    expected = network(Tensor(images)).asnumpy()
    assert np.abs(output(path, images) - expected[..., [3, 0, 1, 2]]).max() <= 1e-5
    weights = {p.name: p.size for p in network.get_parameters() if not p.name.startswith("head.nrtr.")}
    assert sum(np.prod(row.dims) for row in onnx.load(path).graph.initializer) < 1.01 * sum(weights.values())


def test_a_space_that_the_dictionary_lacks_is_never_read(tmp_path: Path) -> None:
    network, path = recogniser(4), tmp_path / "best.onnx"
    export.export(network, (1, 3, 48, 64), path, {}, [3, 0, 1, 2, -1])
    found = output(path, np.zeros((1, 3, 48, 64), np.float32))
    assert found.shape[2] == 5
    assert (found[..., 4] == 0).all()
    assert found.sum(axis=2) == pytest.approx(1, abs=1e-5)


def test_means_over_large_maps_are_exact(tmp_path: Path) -> None:
    """Squeeze and excitation after a convolution, on a map of 384 x 384 pixels."""
    cell = nn.SequentialCell(nn.Conv2d(16, 16, 1, has_bias=True), lcnet_v4.SqueezeExcite(16)).set_train(False)
    generator = np.random.default_rng(0)
    for parameter in cell.get_parameters():
        parameter.set_data(Tensor(generator.uniform(-0.3, 0.3, parameter.shape).astype(np.float32)))
    graph = Graph(ppocr_graph.PARTS)
    sides, value = ["batch", 16, "height", "width"], onnx.helper.make_tensor_value_info
    ends = [value(name, onnx.TensorProto.FLOAT, sides) for name in ("x", graph.put(cell, "x"))]
    made = onnx.helper.make_graph(graph.nodes, "test", ends[:1], ends[1:], graph.weights)
    opset = onnx.helper.make_opsetid("", ppocr_graph.OPSET)
    onnx.save(onnx.helper.make_model(made, opset_imports=[opset], ir_version=ppocr_graph.IR), tmp_path / "a.onnx")
    maps = generator.uniform(0, 9, (1, 16, 384, 384)).astype(np.float32)
    session = runtime.InferenceSession(tmp_path / "a.onnx", providers=["CPUExecutionProvider"])
    assert np.abs(session.run(None, {"x": maps})[0] - cell(Tensor(maps)).asnumpy()).max() < 1e-5


def test_onnxruntime_fuses_each_gelu_into_one_operator(tmp_path: Path) -> None:
    """It recognises the activation by its subgraph; single operators are slower."""
    network, options = detector(), runtime.SessionOptions()
    onnx.save(ppocr_graph.model(network), tmp_path / "best.onnx")
    options.optimized_model_filepath = str(tmp_path / "run.onnx")
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.log_severity_level = 4
    runtime.InferenceSession(tmp_path / "best.onnx", options, providers=["CPUExecutionProvider"])
    kinds = [node.op_type for node in onnx.load(tmp_path / "run.onnx").graph.node]
    assert kinds.count("Gelu") == sum(type(cell) is nn.GELU for _, cell in network.cells_and_names()) > 0
    assert "Erf" not in kinds


def test_an_unknown_part_is_refused(tmp_path: Path) -> None:
    network = detector()
    network.backbone.stem = nn.ReLU6()
    with pytest.raises(KitError, match="ReLU6 cannot be exported as ONNX"):
        ppocr_graph.model(network)
    assert not list(tmp_path.iterdir())


def loaded(tmp_path: Path, dictionary: str, *, space: bool) -> config.Config:
    """A configuration of a recogniser of the family; its other sections are not used."""
    (tmp_path / "dict.txt").write_text(dictionary, encoding="utf-8")
    parts = config.load(ROOT / "configs/rec/crnn/crnn_small.yaml")
    values = {**parts.values, "model": {**parts["model"], "backbone": {"name": "rec_pplcnet_v4", "size": "tiny"}}}
    post = {**parts["postprocess"], "character_dict_path": str(tmp_path / "dict.txt"), "use_space_char": space}
    return config.Config({**values, "postprocess": post}, parts.source)


def test_the_dictionary_matches_paddleocr(tmp_path: Path) -> None:
    one = loaded(tmp_path, "b\n \na", space=True)
    assert export_metadata.order(one) == [3, 0, 2, 1]
    facts = export_metadata.facts(one)
    assert facts["character"] == "b\na"
    assert json.loads(facts["characters"]) == [None, "b", "a", " "]
    assert export_metadata.order(loaded(tmp_path, "b\na", space=False)) == [2, 0, 1, -1]
    with pytest.raises(KitError, match=r"the dictionary has '\\u2028'"):
        export_metadata.order(loaded(tmp_path, "b\n\u2028", space=True))


@pytest.mark.long
def test_rapidocr_runs_the_exported_pair(tmp_path: Path) -> None:
    """The networks of the reader with the published weights, exported: rapidocr reads a page as with its own files."""
    package = pytest.importorskip("rapidocr", exc_type=ImportError)
    found = networks.cells()
    order = export_metadata.paddle_order(found.classes)
    characters = "\n".join(str(found.classes[number]) for number in order[1:-1])
    export.export(found.detector, (1, 3, 64, 64), tmp_path / "det.onnx", {})
    export.export(found.recogniser, (1, 3, 48, 64), tmp_path / "rec.onnx", {"character": characters}, order)
    quiet = {"Global.log_level": "error"}
    paths = {"Det.model_path": str(tmp_path / "det.onnx"), "Rec.model_path": str(tmp_path / "rec.onnx")}
    image = page("Fine tuning", "12.50   TOTAL")
    ours, theirs = (package.RapidOCR(params=params)(image) for params in ({**quiet, **paths}, quiet))
    assert ours.txts == theirs.txts
    assert "Fine tuning" in ours.txts
    assert (ours.boxes == theirs.boxes).all()
    assert ours.scores == pytest.approx(theirs.scores, abs=1e-3)
    assert rapidocr.path("rapidocr:det").is_file()
