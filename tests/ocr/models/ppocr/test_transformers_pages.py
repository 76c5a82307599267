"""The detector against that of the package `transformers` with random weights, in which nothing is folded."""

from collections.abc import Iterator
from typing import Any

import mindspore as ms
import numpy as np
import pytest
from mindspore import Tensor

from hccl_kit.ocr.adapt import onnx_weights
from hccl_kit.ocr.adapt.onnx_weights import Layer
from hccl_kit.ocr.models.ppocr import folding, lcnet_v4, pages

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers", minversion="5.8")

pytestmark = [pytest.mark.train, pytest.mark.torch]

CHANNELS, KERNEL = {"tiny": 64, "small": 96}, {"tiny": 5, "small": 7}
HEAD = {"name": "DBHead", "k": 50, "bias": True, "adaptive": True, "k_scales_threshold": True}


@pytest.fixture(autouse=True)
def pynative() -> Iterator[None]:
    ms.set_context(mode=ms.PYNATIVE_MODE)
    yield
    ms.set_context(mode=ms.GRAPH_MODE)


def reference(size: str) -> Any:
    """Its detector with the sizes of ours, random weights and random statistics."""
    shape = lcnet_v4.PAGES[size]
    before, stages = shape.stem[1], []
    for stage in shape.stages:
        inputs = [before] + [stage.channels] * (len(stage.squeeze) - 1)
        stages.append(
            [
                [3, channels, stage.channels, stage.stride if number == 0 else 1, squeeze]
                for number, (channels, squeeze) in enumerate(zip(inputs, stage.squeeze, strict=True))
            ]
        )
        before = stage.channels
    backbone = transformers.PPLCNetV4Config(
        block_configs=stages,
        stem_channels=[3, *shape.stem],
        out_features=["stage1", "stage2", "stage3", "stage4"],
    )
    config = transformers.PPOCRV6SmallDetConfig(
        backbone_config=backbone,
        neck_out_channels=CHANNELS[size],
        dilated_kernel_size=KERNEL[size],
        layer_list_out_channels=[stage.channels for stage in shape.stages],
    )
    torch.manual_seed(0)
    network = transformers.PPOCRV6SmallDetForObjectDetection(config).eval()
    for name, value in network.state_dict().items():
        if value.ndim == 1:
            scales = name.endswith(("weight", "var"))
            value.uniform_(0.5, 1.5) if scales else value.uniform_(-0.2, 0.2)
        elif value.ndim == 4:  # those of its initialisation are so small that biases alone are left
            value.normal_(std=float(np.sqrt(1 / value[0].numel())))
    return network


def executed(network: Any, images: Any) -> tuple[list[Layer], Any]:
    """Its layers in the order in which they run, normalisations folded, and its output."""
    ran: list[Any] = []
    kinds = (torch.nn.Conv2d, torch.nn.ConvTranspose2d, torch.nn.BatchNorm2d)
    for module in network.modules():
        if isinstance(module, kinds):
            module.register_forward_hook(lambda module, *_: ran.append(module))
    with torch.no_grad():
        output = network(images).last_hidden_state
    layers: list[Layer] = []
    for module in ran:
        weight: Any = module.weight.detach().numpy()
        bias: Any = None if module.bias is None else module.bias.detach().numpy()
        if isinstance(module, torch.nn.BatchNorm2d):
            norm = folding.Norm(weight, bias, module.running_mean.numpy(), module.running_var.numpy())
            kind, arrays = layers.pop()
            transposed = kind == onnx_weights.TRANSPOSED
            folded = folding.normalised(arrays["weight"], norm, bias=arrays.get("bias"), transposed=transposed)
            layers.append(Layer(kind, folded._asdict()))
        else:
            kind = onnx_weights.CONVOLUTION if isinstance(module, torch.nn.Conv2d) else onnx_weights.TRANSPOSED
            layers.append(Layer(kind, {"weight": weight} if bias is None else {"weight": weight, "bias": bias}))
    return layers, output.numpy()


def coarse_first(layers: list[Layer]) -> list[Layer]:
    """The levels of its neck run from fine to coarse: three layers of each, then four of each; the head has three."""
    neck = layers[-31:-3]
    unify = [neck[start : start + 3] for start in (9, 6, 3, 0)]
    smooth = [neck[start : start + 4] for start in (24, 20, 16, 12)]
    return [*layers[:-31], *(layer for level in (*unify, *smooth) for layer in level), *layers[-3:]]


@pytest.mark.parametrize("size", CHANNELS)
def test_same_maps(size: str) -> None:
    images = np.random.default_rng(0).uniform(-1, 1, (2, 3, 64, 96)).astype(np.float32)
    layers, expected = executed(reference(size), torch.from_numpy(images))
    network = pages.build(
        {
            "backbone": {"name": "det_pplcnet_v4", "size": size},
            "neck": {"name": "RepLKFPN", "out_channels": CHANNELS[size], "kernel": KERNEL[size]},
            "head": HEAD,
        }
    )
    parameters = network.parameters_dict()
    for name, array in onnx_weights.place(tuple(coarse_first(layers)), network).items():
        parameters[name].set_data(Tensor(array))
    found = network.set_train(False)(Tensor(images)).asnumpy()
    assert expected.std() > 0.01
    assert np.abs(found - expected).max() < 1e-5
