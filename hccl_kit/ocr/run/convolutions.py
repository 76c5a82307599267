"""How a network computes its convolutions on CPU: by oneDNN in its own layouts, or as MindSpore does.

The first needs a C++ compiler once (see `hccl_kit.ocr.native`). Results differ by rounding only.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hccl_kit.base.errors import KitError
from hccl_kit.base.wording import plural
from hccl_kit.ocr.adapt import instruction_set
from hccl_kit.ocr.checkpoints.fetch import cache
from hccl_kit.ocr.native import library

MEASURE, FIRST, BFLOAT16, PLAIN = "measure", "onednn", "bfloat16", "plain"
"""The values of `system.convolutions`."""


def of_onednn(
    system: Mapping[str, Any], environ: Mapping[str, str], say: Callable[[str], None] = lambda _: None
) -> Path | None:
    """The library that computes convolutions, ready to be used; None if MindSpore computes them.

    MindSpore does so in PyNative mode, where unused gradients are computed too, with `system.convolutions: plain`, and
    if the library cannot be compiled, which `say` reports.
    """
    if system["convolutions"] == PLAIN or system["mode"] != 0:
        return None
    try:
        return library.library(cache(environ) / "convolutions", environ)
    except KitError as error:
        hint = f" ({error.hint})" if error.hint else ""
        say(f"convolutions are computed by MindSpore, which is slower: {error}{hint}")
        return None


def prepare(path: Path, system: Mapping[str, Any], environ: Mapping[str, str]) -> bool:
    """Let the library at `path` measure, as configured; returns whether it is to compute in bfloat16."""
    library.hold(path)
    if system["convolutions"] != FIRST:
        library.keep_choices(path, environ, len(os.sched_getaffinity(0)))
    return bool(system["convolutions"] == BFLOAT16 and instruction_set.has_bfloat16())


def say_measured(system: Mapping[str, Any], environ: Mapping[str, str], say: Callable[[str], None]) -> None:
    """Say how many convolutions this process has measured, if any."""
    path = of_onednn(system, environ)
    count = library.measured_choices(path) if path else 0
    if count:
        ones = plural("convolution", count)
        say(f"the fastest implementations of {count} {ones} on this processor were measured and are kept")
