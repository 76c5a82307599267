"""The door to `hccl_kit.ocr.cpu`, which computes on CPUs what MindSpore computes slowly there.

Only this module imports that folder, and the folder may be absent. MindSpore computes everything itself without it,
with `system.convolutions: plain`, in PyNative mode, where unused gradients are computed too, and where the operators
cannot be compiled, which needs a C++ compiler once. Results differ by rounding only.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.ocr.checkpoints.fetch import cache

if TYPE_CHECKING:
    import numpy as np
    from mindspore import nn
    from numpy.typing import NDArray

    from hccl_kit.ocr.config import Config
    from hccl_kit.runtime.join import World

    Arrays = Sequence[NDArray[np.float32]]
    Sum = Callable[[Arrays, Arrays], None]

ROOM = Path(__file__).with_name("cpu")
ONEDNN, PLAIN = "onednn", "plain"
"""The values of `system.convolutions`."""
INSTRUCTION_SETS = "ONEDNN_MAX_CPU_ISA"
"""The variable that limits what MindSpore's oneDNN uses."""


def prepare(system: Mapping[str, Any], say: Callable[[str], None], *, plain: bool = False) -> None:
    """Compile the operators if they are wanted and not there yet. Call it before MindSpore is imported.

    `plain`: MindSpore computes the networks of this process. `say` takes a line if the operators cannot be used.
    """
    if not _is_there() and not plain and _is_wanted(system):
        say(_slower(Message("cpu.absent", "{folder} is not installed", folder=ROOM)))
    if not plain and _operators(system, say) is not None:
        return
    if note := limit(os.environ):
        say(note)


def limit(environ: MutableMapping[str, str]) -> Message | None:
    """Limit MindSpore's oneDNN to AVX2 on x86, unless the user has set a limit; returns a note if it was set here.

    For a plain convolution (NCHW, float32) on a CPU with AVX-512, oneDNN 3.10 (in MindSpore 2.10) falls back to
    reference code: `jit_uni_ncsp_convolution` precedes the matrix product in its list of implementations and has
    nothing better for weights in plain order. A step takes 35 times as long (measured).
    """
    if INSTRUCTION_SETS in environ or platform.machine() not in ("x86_64", "AMD64"):
        return None
    environ[INSTRUCTION_SETS] = "AVX2"
    return Message(
        "cpu.limited",
        "{variable}=AVX2: MindSpore's convolutions on CPU are much slower under AVX-512",
        variable=INSTRUCTION_SETS,
    )


def adapt(network: nn.Cell, system: Mapping[str, Any], *, frozen: bool = False) -> None:
    """Let the operators compute `network`. Its parameters keep their names and shapes.

    `frozen`: its weights no longer change, and need no longer be those of its checkpoint. A network for export should
    keep its own cells.
    """
    operators = _operators(system)
    if operators is not None:
        from hccl_kit.ocr.cpu import adapted  # noqa: PLC0415  # may be absent

        adapted.adapt(network, operators, frozen=frozen)


def keep_graphs(
    cells: Mapping[str, nn.Cell], config: Config, world: World, *, network: nn.Cell, say: Callable[[str], None]
) -> None:
    """From now on these cells take their compiled graphs from the cache folder, see `hccl_kit.ocr.cpu.kept_graphs`."""
    system = config["system"]
    if _is_there() and _is_wanted(system):
        from hccl_kit.ocr.cpu import kept_graphs  # noqa: PLC0415  # may be absent

        kept_graphs.keep(cells, config, world, network=network, operators=_operators(system), say=say)


def sum_over_ranks_of_host(world: World) -> Sum | None:
    """How the ranks of one host sum arrays in memory that they share, None on every rank if they cannot.

    It writes the sums of the first arrays into the second ones. Every rank must call it. Raises KitError if a rank
    fails after all have said that they can.
    """
    if not _is_there():
        return None
    from hccl_kit.ocr.cpu import host_memory  # noqa: PLC0415  # may be absent

    memory = host_memory.connect(world)
    return memory.sum_over_ranks if memory is not None else None


def _is_there() -> bool:
    return (ROOM / "__init__.py").is_file()


def _is_wanted(system: Mapping[str, Any]) -> bool:
    return bool(system["convolutions"] != PLAIN and system["mode"] == 0)


def _operators(system: Mapping[str, Any], say: Callable[[str], None] = lambda _: None) -> Path | None:
    """The compiled operators, None if they are not wanted, or cannot be compiled, which `say` reports."""
    if not _is_there() or not _is_wanted(system):
        return None
    from hccl_kit.ocr.cpu import library  # noqa: PLC0415  # may be absent

    try:
        return library.library(cache(os.environ) / "convolutions", os.environ)
    except KitError as error:
        say(_slower(error.message, error.hint))
        return None


def _slower(reason: str, hint: str | None = None) -> Message:
    if hint:
        return Message(
            "cpu.plain.fix",
            "convolutions are computed by MindSpore, which is slower: {reason} ({hint})",
            reason=reason,
            hint=hint,
        )
    return Message("cpu.plain", "convolutions are computed by MindSpore, which is slower: {reason}", reason=reason)
