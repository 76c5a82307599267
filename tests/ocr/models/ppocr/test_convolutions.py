"""The parallel small kernels of a large one, against PaddleOCR's block in the PyTorch version of rapidocr."""

from typing import Any

import numpy as np
import pytest
from mindspore import Tensor

from hccl_kit.ocr.models.ppocr import folding
from hccl_kit.ocr.models.ppocr.convolutions import Dilated
from tests.on_use import on_use

torch = on_use("torch")
db_fpn = on_use("rapidocr.inference_engine.pytorch.networks.necks.db_fpn")

pytestmark = [pytest.mark.train, pytest.mark.torch, pytest.mark.usefixtures("pynative")]


def values(convolution: Any, norm: Any, number: int) -> dict[str, Any]:
    cell = f"kernels.{number}"
    return {
        f"{cell}.conv.weight": convolution.weight,
        f"{cell}.bn.gamma": norm.weight,
        f"{cell}.bn.beta": norm.bias,
        f"{cell}.bn.moving_mean": norm.running_mean,
        f"{cell}.bn.moving_variance": norm.running_var,
    }


@pytest.mark.parametrize("side", sorted(folding.DILATED))
def test_a_large_kernel_matches_paddleocr(side: int) -> None:
    torch.manual_seed(side)
    theirs = db_fpn.DilatedReparamBlock(4, side).eval()
    for name, value in theirs.state_dict().items():
        if "tracked" not in name:
            value.uniform_(0.5, 1.5) if name.endswith("var") else value.normal_()
    given = values(theirs.lk_origin, theirs.origin_bn, 0)
    for number, (kernel, dilation) in enumerate(folding.DILATED[side], 1):
        mark = f"k{kernel}_{dilation}"
        given |= values(getattr(theirs, f"dil_conv_{mark}"), getattr(theirs, f"dil_bn_{mark}"), number)
    ours = Dilated(4, side).set_train(False)
    own = ours.parameters_dict()
    assert own.keys() == given.keys()
    for name, value in given.items():
        own[name].set_data(Tensor(value.detach().numpy()))
    images = np.random.default_rng(0).standard_normal((2, 4, 17, 19)).astype(np.float32)
    with torch.no_grad():
        expected = theirs(torch.from_numpy(images)).numpy()
    assert np.abs(ours(Tensor(images)).asnumpy() - expected).max() < 1e-4 * np.abs(expected).max()
