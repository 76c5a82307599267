"""What a network says reaches the decoder as it expects it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mindspore as ms
import numpy as np
import pytest
from mindspore import Tensor, nn, ops
from numpy.typing import NDArray

from hccl_kit.ocr import config
from hccl_kit.ocr.data.samples import TextLine
from hccl_kit.ocr.infer.inference import Inference
from hccl_kit.ocr.tasks import recipes
from tests.ocr.data.images import write_image
from tests.ocr.run_tool import CONFIG


class Ending(nn.Cell):
    """One number for each image, in the precision that the network ends in."""

    def __init__(self, kind: ms.Type) -> None:
        super().__init__()
        self.kind = kind

    def construct(self, images: Tensor) -> Tensor:
        return ops.cast(ops.reduce_mean(images, (1, 2, 3)), self.kind)


@pytest.mark.parametrize("kind", [ms.float16, ms.float32])
def test_a_decoder_sees_float32_whatever_the_network_ends_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: ms.Type
) -> None:
    write_image(tmp_path / "0.png", 254)
    seen: list[NDArray[Any]] = []

    def decode(outputs: NDArray[Any], samples: Sequence[TextLine]) -> list[str]:
        seen.append(outputs)
        return ["" for _ in samples]

    made = config.load(CONFIG, ["eval.loader.batch_size=1"])
    task = recipes.task(made)
    monkeypatch.setattr(task, "decode", decode)
    [[prediction]] = Inference(task, made["eval"]).batches(Ending(kind), [TextLine(tmp_path / "0.png", text="a")])
    assert prediction.value == ""
    assert [outputs.dtype for outputs in seen] == [np.float32]
    assert seen[0].shape == (1,)
