"""Networks of the package `transformers` with random weights, for comparison."""

from typing import Any

import numpy as np

from hccl_kit.ocr.models.ppocr.lcnet_v4 import Shape


def block_configs(shape: Shape) -> list[Any]:
    """The option of PPLCNetV4Config of this name."""
    before, stages = shape.stem[1], []
    for stage in shape.stages:
        rows = []
        for number, squeeze in enumerate(stage.squeeze):
            stride = 1 if number else stage.stride
            rows.append([3, before, stage.channels, list(stride) if isinstance(stride, tuple) else stride, squeeze])
            before = stage.channels
        stages.append(rows)
    return stages


def randomised(network: Any, steep: float = 1) -> Any:
    """The network for inference. Weights of a classifier are larger by `steep`, so that its probabilities differ."""
    import torch  # noqa: PLC0415  # an extra

    torch.manual_seed(0)
    for name, value in network.state_dict().items():
        if name.endswith("num_batches_tracked"):
            continue
        if value.ndim > 1:  # the initial ones are so small that only biases have an effect
            last = name in ("head.head.weight", "head.fc2.weight")
            added = "symmetric" in name or "intraclass" in name  # several of these are added
            value.normal_(std=(steep if last else 0.3 if added else 1) * float(np.sqrt(1 / value[0].numel())))
        elif name.endswith(("weight", "var", "scale")):
            value.uniform_(0.5, 1.5)
        else:
            value.uniform_(-0.2, 0.2)
    return network.eval()
