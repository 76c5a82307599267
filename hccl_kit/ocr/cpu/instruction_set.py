"""The instruction set that MindSpore's oneDNN may use on x86.

For a plain convolution (NCHW, float32) on a CPU with AVX-512, oneDNN 3.10 (in MindSpore 2.10) falls back to reference
code: `jit_uni_ncsp_convolution` precedes the matrix product in its list of implementations and has nothing better for
weights in plain order. A step takes 35 times as long (measured). So where MindSpore computes the convolutions, and not
`hccl_kit.ocr.cpu.convolution`, oneDNN is limited to AVX2.
"""

from __future__ import annotations

import platform
from collections.abc import MutableMapping

from hccl_kit.base.message import Message

VARIABLE = "ONEDNN_MAX_CPU_ISA"


def limit(environ: MutableMapping[str, str]) -> Message | None:
    """On x86, set ONEDNN_MAX_CPU_ISA in `environ` to AVX2 unless it is set already; returns a note if it was set here.

    Call it before MindSpore is imported.
    """
    if VARIABLE in environ or platform.machine() not in ("x86_64", "AMD64"):
        return None
    environ[VARIABLE] = "AVX2"
    return Message(
        "cpu.limited",
        "{variable}=AVX2: MindSpore's convolutions on CPU are much slower under AVX-512",
        variable=VARIABLE,
    )
