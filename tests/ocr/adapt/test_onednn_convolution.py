"""Convolutions of oneDNN match MindSpore's own, forward and backward, with the same parameters."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import mindspore as ms
import numpy as np
import pytest
from mindspore import Tensor, nn
from numpy.typing import NDArray

from hccl_kit.ocr import config
from hccl_kit.ocr.adapt.instruction_set import VARIABLE, has_bfloat16
from hccl_kit.ocr.adapt.onednn_convolution import Convolution, Transposed, replace
from hccl_kit.ocr.checkpoints.fetch import cache
from hccl_kit.ocr.models.fpn import Enlarge
from hccl_kit.ocr.native.library import hold, library
from hccl_kit.ocr.train import build
from tests.ocr.compiler import NEEDS_COMPILER
from tests.ocr.differentiated import found
from tests.ocr.tiny import ALONE
from tests.places import ROOT

pytestmark = NEEDS_COMPILER
PAGES = ROOT / "configs/det/dbnet/db_r18_receipts.yaml"
SIZE = (9, 12)
MEASURING = """
import os, sys
from pathlib import Path
import numpy as np
from mindspore import Tensor, nn
import mindspore as ms
from hccl_kit.ocr.adapt.instruction_set import VARIABLE, has_bfloat16
from hccl_kit.ocr.adapt.onednn_convolution import replace
from hccl_kit.ocr.native import library
ms.set_context(mode=ms.GRAPH_MODE, jit_config={"jit_level": "O0"})
path = Path(sys.argv[1])
library.hold(path)
library.keep_choices(path, {}, 1)
convolution = nn.Conv2d(3, 8, 3, pad_mode="pad", padding=1)
replace(convolution, path)
before = library.measured_choices(path)
for size in (16, 17, 64):  # as powers of two of the pixels these are two
    convolution(Tensor(np.ones((1, 3, size, size), np.float32)))
print(before, library.measured_choices(path))
"""

NARROW = """
import sys
from pathlib import Path
import numpy as np
from mindspore import nn
import mindspore as ms
from hccl_kit.ocr.adapt.instruction_set import VARIABLE, has_bfloat16
from hccl_kit.ocr.adapt.onednn_convolution import replace
from hccl_kit.ocr.native import library
from tests.ocr.differentiated import found
ms.set_context(mode=ms.GRAPH_MODE, jit_config={"jit_level": "O0"})
path = Path(sys.argv[1])
library.hold(path)
ours, exact = nn.Conv2d(16, 16, 3, pad_mode="pad", padding=1), nn.Conv2d(16, 16, 3, pad_mode="pad", padding=1)
ours.weight.set_data(exact.weight)
replace(ours, path, bfloat16=True)
replace(exact, path)
for one, other in zip(found(ours, (2, 16, 9, 12)), found(exact, (2, 16, 9, 12))):
    print(np.abs(one - other).max() / np.abs(other).max())
"""

FORKING = """
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <signal.h>
#include <unistd.h>
int flock(int file, int what) {
    int status = syscall(SYS_flock, file, what);
    if (status == 0 && (what & LOCK_EX) && fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(1);
        close(2);
        pause();
    }
    return status;
}
"""
READ_ONLY = """
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
int open(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    int mode = flags & O_CREAT ? va_arg(more, int) : 0;
    va_end(more);
    if (strstr(path, "fastest-") && flags & O_RDWR) {
        errno = EROFS;
        return -1;
    }
    return syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
"""
HASTY = "int usleep(unsigned microseconds) { return 0; }"


@pytest.fixture(scope="module")
def path() -> Path:
    made = library(cache(os.environ) / "convolutions", os.environ)
    hold(made)
    return made


def assert_close(after: list[NDArray[np.float32]], before: list[NDArray[np.float32]], share: float) -> None:
    assert len(after) == len(before)
    for one, other in zip(after, before, strict=True):
        assert np.abs(one - other).max() <= share * np.abs(other).max()


@pytest.mark.parametrize(
    ("channels", "kernel", "options"),
    [
        ((3, 4), 3, {"pad_mode": "pad", "padding": 1}),
        ((4, 6), (2, 4), {"pad_mode": "valid", "dilation": (2, 3), "has_bias": True}),
        ((3, 2), (3, 5), {"pad_mode": "pad", "padding": (0, 1, 4, 3)}),
        ((3, 2), 3, {"pad_mode": "same", "stride": 2}),
        ((3, 2), (2, 4), {"pad_mode": "same", "stride": (3, 1)}),
        ((4, 8), 3, {"pad_mode": "pad", "padding": 1, "group": 2, "stride": (2, 1)}),
        ((16, 16), 5, {"pad_mode": "pad", "padding": 2, "group": 16}),
        ((16, 16), 4, {"pad_mode": "same", "group": 16}),
        ((4, 4), 1, {}),
    ],
)
def test_convolutions_match_mindspore(
    channels: tuple[int, int], kernel: Any, options: dict[str, Any], path: Path
) -> None:
    convolution = nn.Conv2d(*channels, kernel, **options)
    before, names = found(convolution, (2, channels[0], *SIZE)), [p.name for p in convolution.get_parameters()]
    assert replace(convolution, path) == 0
    assert [p.name for p in convolution.get_parameters()] == names
    assert_close(found(convolution, (2, channels[0], *SIZE)), before, 1e-5)
    assert isinstance(convolution.conv2d, Convolution)


@pytest.mark.parametrize(
    ("channels", "kernel", "options"),
    [((4, 6), 2, {}), ((4, 6), 3, {"has_bias": True}), ((4, 4), 2, {"group": 2})],
)
def test_transposed_convolutions_match_mindspore(
    channels: tuple[int, int], kernel: int, options: dict[str, Any], path: Path
) -> None:
    convolution = nn.Conv2dTranspose(*channels, kernel, stride=2, pad_mode="valid", **options)
    before = found(convolution, (2, channels[0], *SIZE))
    assert replace(convolution, path) == 0
    assert_close(found(convolution, (2, channels[0], *SIZE)), before, 1e-5)
    assert isinstance(convolution.conv2d_transpose, Transposed)


def test_enlarging_by_a_convolution_is_not_replaced(path: Path) -> None:
    cell = Enlarge(5, 3, by_convolution=True)
    before = found(cell, (2, 5, *SIZE))
    assert replace(cell, path) == 0
    assert_close(found(cell, (2, 5, *SIZE)), before, 1e-6)


def test_transposed_convolutions_with_padding_are_not_replaced(path: Path) -> None:
    assert replace(nn.Conv2dTranspose(4, 4, 3, stride=2, pad_mode="same"), path) == 1


@pytest.mark.train
def test_bfloat16_is_precise_to_three_digits(path: Path) -> None:
    """If the processor supports it. Otherwise, or with an instruction set without it, float32 is used."""
    environ = {name: value for name, value in os.environ.items() if name != VARIABLE}
    environ["PYTHONPATH"] = str(ROOT)
    for limit, lossy in (({}, has_bfloat16()), ({VARIABLE: "AVX2"}, False)):
        argv = [sys.executable, "-c", NARROW, str(path)]
        done = subprocess.run(argv, check=True, capture_output=True, text=True, env=environ | limit)
        errors = [float(word) for word in done.stdout.split()]
        assert len(errors) == 3
        assert all((1e-4 < error < 0.03) if lossy else error < 1e-5 for error in errors)


def test_one_graph_supports_images_of_all_sizes(path: Path) -> None:
    convolution = nn.Conv2d(3, 4, 3, stride=2, pad_mode="pad", padding=1)
    images = [np.random.default_rng(size).standard_normal((1, 3, size, size + 3)).astype(np.float32) for size in (8, 9)]
    before = [convolution(Tensor(image)).asnumpy() for image in images]
    replace(convolution, path)
    convolution.compile_cache.clear()
    convolution.set_inputs(Tensor(shape=(None, 3, None, None), dtype=ms.float32))
    after = [convolution(Tensor(image)).asnumpy() for image in images]
    assert [one.shape for one in after] == [(1, 4, 4, 6), (1, 4, 5, 6)]
    assert_close(after, before, 1e-5)


@pytest.mark.parametrize("size", [(None, 3, None, None), (2, 3, 2, 9)])
def test_images_that_are_smaller_than_the_kernel_are_refused(size: tuple[int | None, ...], path: Path) -> None:
    """Like in MindSpore. With a stride, dividing a negative size could give maps of one pixel."""
    convolution = nn.Conv2d(3, 4, 3, stride=2, pad_mode="valid")
    replace(convolution, path)
    convolution.set_inputs(Tensor(shape=size, dtype=ms.float32))
    with pytest.raises(RuntimeError, match="images are smaller than the kernel"):
        convolution(Tensor(np.ones((2, 3, 2, 9), np.float32))).asnumpy()


def test_the_exception_names_the_failed_operation(path: Path) -> None:
    convolution = nn.Conv2d(3, 4, 3)
    replace(convolution, path)
    convolution.conv2d.geometry[..., 0] = 0  # a stride that oneDNN refuses
    with pytest.raises(RuntimeError, match="oneDNN cannot compute this convolution, status "):
        convolution(Tensor(np.ones((2, 3, 9, 9), np.float32))).asnumpy()


@pytest.mark.parametrize(
    ("value", "mode", "expected"), [("measure", 0, True), ("plain", 0, False), ("measure", 1, False)]
)
def test_training_uses_them_depending_on_mode_and_setting(value: str, mode: int, expected: bool) -> None:
    settings = config.load(PAGES, [f"system.convolutions={value}", f"system.mode={mode}"])
    network = build.network_to_train(settings, ALONE, lambda _: None)
    cells = [cell for _, cell in network.cells_and_names()]
    assert any(isinstance(cell, Convolution) for cell in cells) == expected
    assert any(isinstance(cell, Transposed) for cell in cells) == expected


@pytest.fixture
def own(path: Path, tmp_path: Path) -> Path:
    """A copy of the library in a separate folder, where its choices are stored."""
    (tmp_path / "kept").mkdir()
    own = tmp_path / "kept" / "convolution.so"
    own.symlink_to(path)
    return own


def measured(library: Path, *, preload: Path | None = None) -> str:
    """The number of choices that a process has measured before and after three sizes."""
    argv = [sys.executable, "-c", MEASURING, str(library)]
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "LD_PRELOAD": str(preload or "")}
    return subprocess.run(argv, check=True, capture_output=True, text=True, env=environ, timeout=300).stdout.strip()


def preloaded(folder: Path, text: str) -> Path:
    """A C library that overrides system functions."""
    source = folder / "preloaded.c"
    source.write_text(text)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(folder / "preloaded.so"), str(source)], check=True)
    return folder / "preloaded.so"


@pytest.mark.train
def test_a_process_forked_during_a_measurement_holds_no_lock(own: Path, tmp_path: Path) -> None:
    """Such as a data loading worker: otherwise other ranks would wait until it ends."""
    assert measured(own, preload=preloaded(tmp_path, FORKING)) == "0 2"


@pytest.mark.train
def test_a_stopped_process_does_not_block_others_forever(own: Path, tmp_path: Path) -> None:
    """They measure by themselves after a timeout, which is skipped here."""
    measured(own)
    (file,) = own.parent.glob("fastest-*.txt")
    with file.open("r+") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        held.truncate()
        assert measured(own, preload=preloaded(tmp_path, HASTY)) == "0 2"


@pytest.mark.train
def test_a_read_only_file_of_choices_is_used(own: Path, tmp_path: Path) -> None:
    measured(own)
    assert measured(own, preload=preloaded(tmp_path, READ_ONLY)) == "0 0"


@pytest.mark.train
def test_a_choice_measured_by_one_process_is_used_by_others(own: Path) -> None:
    """A process does not measure choices that are in the file; invalid lines are skipped."""
    assert measured(own) == "0 2"
    assert measured(own) == "0 0"
    (file,) = own.parent.glob("fastest-*.txt")
    lines = file.read_text().splitlines()
    assert len(lines) == 2
    file.write_text(f"{lines[0].split()[0]} no-such-implementation\n\0\x1b[31m a b c\n{lines[1][:5]}")
    assert measured(own) == "0 1"
