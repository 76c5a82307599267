"""Which instructions of an x86 CPU MindSpore's oneDNN may use.

For a plain convolution (NCHW, float32) on a CPU with AVX-512 oneDNN 3.10, the one in MindSpore 2.10, has only its
reference code: `jit_uni_ncsp_convolution` comes before the product of matrices in its list and finds nothing better for
weights in plain order. A step takes 35 times as long (measured). So AVX2 is the most it may use, unless the network
computes its convolutions as products itself (`hccl_kit.ocr.adapt.matrix_convolution`): then a step of CRNN with VGG7
or ResNet-34 takes two thirds of its time under AVX2 (measured).
"""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping, MutableMapping
from pathlib import Path

VARIABLE = "ONEDNN_MAX_CPU_ISA"
CPU_INFO = Path("/proc/cpuinfo")
_AVX512_CORE = {"avx512f", "avx512bw", "avx512dq", "avx512vl"}
_BELOW = ("SSE41", "AVX", "AVX2", "AVX2_VNNI", "AVX2_VNNI_2")


def choose(environ: MutableMapping[str, str], *, products: bool) -> str | None:
    """Set the variable in `environ` unless it is set; what is to be said about it, if anything.

    `products`: the network will compute its convolutions as products. To be called before MindSpore is imported.
    """
    if VARIABLE in environ or not _x86():
        return None
    if products and wide(environ):
        return "convolutions are computed as products of matrices, with AVX-512"
    environ[VARIABLE] = "AVX2"
    return f"{VARIABLE}=AVX2: under AVX-512 the convolutions of MindSpore on CPU are many times slower"


def wide(environ: Mapping[str, str]) -> bool:
    """Whether oneDNN uses AVX-512 in a process with this environment."""
    return _x86() and environ.get(VARIABLE, "").upper() not in _BELOW and _flags() >= _AVX512_CORE


def _x86() -> bool:
    return platform.machine() in ("x86_64", "AMD64")


def _flags() -> set[str]:
    """What the first core can do; nothing where the system does not say."""
    try:
        found = re.search(r"^flags\s*:(.*)$", CPU_INFO.read_text(encoding="utf-8"), re.MULTILINE)
    except OSError:
        return set()
    return set(found[1].split()) if found else set()
