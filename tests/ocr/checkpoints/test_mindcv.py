"""The names of MindCV's backbones: each is a URL, whose file name has the checksum that `fetch` verifies."""

import re

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.checkpoints import fetch, mindcv

KEY = "model.backbone.pretrained"


@pytest.mark.parametrize("name", sorted(mindcv.URLS))
def test_a_name_is_resolved_to_the_url_of_the_network(name: str) -> None:
    url = mindcv.resolved(KEY, name)
    assert re.search(rf"/{name.removeprefix(mindcv.PREFIX)}-[0-9a-f]{{8}}\.ckpt$", url)
    model = {"pretrained": None, "pretrained_strict": True, "backbone": {"pretrained": name}}
    assert fetch.wanted(model) == {KEY: url}


@pytest.mark.parametrize("name", ["resnet18", "a/mindcv:resnet18", "https://example.org/a.ckpt"])
def test_other_names_are_returned_unchanged(name: str) -> None:
    assert mindcv.resolved(KEY, name) == name


@pytest.mark.parametrize("name", ["mindcv:", "mindcv:resnet101", "mindcv:resnet18 ", "mindcv:../x"])
def test_an_unknown_network_is_refused(name: str) -> None:
    with pytest.raises(KitError, match=f"{re.escape(name)}; accepted: mindcv:resnet18, mindcv:resnet50"):
        mindcv.resolved(KEY, name)


def test_a_mindcv_name_is_refused_for_a_whole_network() -> None:
    model = {"pretrained": "mindcv:resnet18", "pretrained_strict": True, "backbone": {}}
    with pytest.raises(KitError, match=r"model\.pretrained is mindcv:resnet18, the weights of a backbone") as caught:
        fetch.wanted(model)
    assert caught.value.hint == "set model.backbone.pretrained: mindcv:resnet18"
