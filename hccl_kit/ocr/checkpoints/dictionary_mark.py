"""The mark of a dictionary in a file of weights: classes are numbers, and another dictionary reads other letters."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from mindspore import Parameter, Tensor

from hccl_kit.base.errors import KitError

NAME = "hccl_kit.dictionary"


def mark(digest: str) -> list[Parameter]:
    """The row to be saved beside the weights of a network with this dictionary; none for an empty digest."""
    return [Parameter(Tensor(np.frombuffer(bytes.fromhex(digest), np.uint8)), name=NAME)] if digest else []


def assert_same(path: Path, rows: Mapping[str, Parameter], digest: str) -> None:
    """KitError where the weights in `path` were trained with another dictionary; older files do not say."""
    if digest and NAME in rows and rows[NAME].asnumpy().tobytes().hex() != digest:
        raise KitError(
            f"{path} was trained with another dictionary than this configuration has",
            hint="set postprocess.character_dict_path and use_space_char as in its train_config.yaml",
        )
