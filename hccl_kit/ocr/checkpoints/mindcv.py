"""The names of MindCV's backbones, whose ImageNet weights it publishes: `model.backbone.pretrained: mindcv:resnet18`.

The addresses are those of MindCV's model files (mindspore-lab/mindcv, `default_cfgs`; releases 0.2.1 to 0.3.0).
"""

from __future__ import annotations

from hccl_kit.base.errors import KitError

PREFIX = "mindcv:"
_FOLDER = "https://download.mindspore.cn/toolkits/mindcv/"
URLS = {
    "mindcv:resnet18": f"{_FOLDER}resnet/resnet18-1e65cd21.ckpt",
    "mindcv:resnet50": f"{_FOLDER}resnet/resnet50-e0733ab8.ckpt",
    "mindcv:resnet152": f"{_FOLDER}resnet/resnet152-beb689d8.ckpt",
    "mindcv:mobilenet_v3_small_100": f"{_FOLDER}mobilenet/mobilenetv3/mobilenet_v3_small_100-509c6047.ckpt",
}
"""The backbones that networks of this package use: det_resnet18, 50 and 152, and cls_mobilenet_v3_small_100."""


def resolved(key: str, name: str) -> str:
    """The URL of such a name, and every other name itself.

    Raises KitError if MindCV's backbone is not one of these, or `key` names the weights of a whole network.
    """
    if not name.startswith(PREFIX):
        return name
    if not key.startswith("model.backbone."):
        raise KitError(
            "ocr.mindcv.weights-backbone",
            "{key} is {name}, the weights of a backbone",
            fix="set model.backbone.pretrained: {name}",
            key=key,
            name=name,
        )
    if name not in URLS:
        raise KitError(
            "ocr.mindcv.path-url",
            "{key} is {name}; accepted: {urls}, a path or a URL",
            key=key,
            name=name,
            urls=", ".join(URLS),
        )
    return URLS[name]
