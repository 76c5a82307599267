"""The instruction sets of this processor, and the one that MindSpore's oneDNN may use on x86.

For a plain convolution (NCHW, float32) on a CPU with AVX-512, oneDNN 3.10 (in MindSpore 2.10) falls back to reference
code: `jit_uni_ncsp_convolution` precedes the matrix product in its list of implementations and has nothing better for
weights in plain order. A step takes 35 times as long (measured). So where MindSpore computes the convolutions, and not
`hccl_kit.ocr.adapt.onednn_convolution`, oneDNN is limited to AVX2.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping, MutableMapping
from pathlib import Path

VARIABLE = "ONEDNN_MAX_CPU_ISA"
CPU_INFO = Path("/proc/cpuinfo")
_AVX512_CORE = {"avx512f", "avx512bw", "avx512dq", "avx512vl"}
_BFLOAT16 = {"avx512_bf16", "amx_bf16"}
_BELOW = ("SSE41", "AVX", "AVX2", "AVX2_VNNI", "AVX2_VNNI_2")


def limit(environ: MutableMapping[str, str]) -> str | None:
    """On x86, set ONEDNN_MAX_CPU_ISA in `environ` to AVX2 unless it is set already; returns a note if it was set here.

    Call it before MindSpore is imported.
    """
    if VARIABLE in environ or not _x86():
        return None
    environ[VARIABLE] = "AVX2"
    return f"{VARIABLE}=AVX2: MindSpore's convolutions on CPU are much slower under AVX-512"


def wide(environ: Mapping[str, str]) -> bool:
    """Whether oneDNN uses AVX-512 in a process with this environment."""
    return _x86() and environ.get(VARIABLE, "").upper() not in _BELOW and _flags() >= _AVX512_CORE


def has_bfloat16() -> bool:
    """Whether the processor has instructions that multiply bfloat16."""
    return bool(_flags() & _BFLOAT16)


def _x86() -> bool:
    return platform.machine() in ("x86_64", "AMD64")


def _flags() -> set[str]:
    """The flags of the first core; empty if the system does not list them."""
    try:
        found = re.search(r"^flags\s*:(.*)$", CPU_INFO.read_text(encoding="utf-8"), re.MULTILINE)
    except OSError:
        return set()
    return set(found[1].split()) if found else set()
