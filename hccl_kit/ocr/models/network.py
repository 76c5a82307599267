"""The structure that most networks share."""

from __future__ import annotations

from mindspore import Tensor, nn


class Network(nn.Cell):
    """Images (N, 3, H, W) through backbone and neck to the outputs of the head."""

    def __init__(self, backbone: nn.Cell, neck: nn.Cell, head: nn.Cell) -> None:
        super().__init__()
        self.backbone = backbone
        self.neck = neck
        self.head = head

    def construct(self, images: Tensor) -> Tensor | tuple[Tensor, ...]:
        return self.head(self.neck(self.backbone(images)))
