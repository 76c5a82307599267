"""Fixtures of the training tests: MindSpore's settings, word images, and a trained run."""

import gc
import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

# Before MindSpore is imported: under AVX-512 its own convolutions are much slower, and its warnings are irrelevant.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX2")
os.environ.setdefault("GLOG_v", "3")

if find_spec("mindspore"):
    import mindspore as ms

    # One thread, which waits for each operator: threads that wait for small ones took half of the processor time.
    ms.set_context(mode=ms.GRAPH_MODE, jit_config={"jit_level": "O0"})
    ms.set_context(runtime_num_threads=1, pynative_synchronize=True)
    ms.set_device("CPU")
    if "OMP_NUM_THREADS" not in os.environ:
        os.unsetenv("OMP_NUM_THREADS")  # MindSpore has set it for every program that tests start

    @pytest.fixture(autouse=True)
    def same_weights() -> None:
        """Seeds the initial weights of each test: rare values would exceed the tolerances."""
        ms.set_seed(0)

    @pytest.fixture
    def pynative() -> Iterator[None]:
        """PyNative mode: in graph mode, a graph would be compiled for each network and each image size."""
        ms.set_context(mode=ms.PYNATIVE_MODE)
        yield
        ms.set_context(mode=ms.GRAPH_MODE)

    @pytest.fixture(scope="module", autouse=True)
    def older_objects_are_kept() -> None:
        """Excludes modules imported by earlier files (torch, ...) from garbage collection (see tests/conftest.py)."""
        gc.collect()
        gc.freeze()

else:  # without the extra `train`, only code that needs neither MindSpore nor OpenCV is tested
    heavy = ("[abd-z]*", "c[lu]*", "che*", "cod*", "conv*")  # the dictionary and the configurations remain
    collect_ignore_glob = ["models", "*/test_*.py", *(f"test_{name}.py" for name in heavy)]

from hccl_kit.ocr.checkpoints.fetch import CACHE
from tests.ocr.run_tool import tool, train
from tests.places import ROOT
from tests.shared_folder import filled_once

TRAIN, TEST = 96, 20


@pytest.fixture(scope="session")
def away(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working folder without anything that a user may have in a checkout, such as runs and data."""
    folder = tmp_path_factory.mktemp("away")
    (folder / "configs").symlink_to(ROOT / "configs")  # dictionaries are relative to the working folder
    return folder


@pytest.fixture(autouse=True)
def outside_the_checkout(away: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that finds weights or data of a user would depend on what they have trained."""
    monkeypatch.chdir(away)


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A separate cache folder for this test. It includes the compiled convolutions of all tests, which take seconds."""
    compiled = Path(os.environ[CACHE]) / "convolutions"
    compiled.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder = tmp_path / "cache"
    folder.mkdir()
    (folder / compiled.name).symlink_to(compiled)
    monkeypatch.setenv(CACHE, str(folder))
    return folder


@pytest.fixture(scope="session")
def words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that tools/render_words.py has filled with 96 training and 20 test images."""

    def fill(folder: Path) -> None:
        done = tool("render_words", "--output", folder, "--train", TRAIN, "--test", TEST, "--seed", 3)
        assert done.returncode == 0, done.stderr

    return filled_once(tmp_path_factory, "ocr_words", fill)


@pytest.fixture(scope="session")
def run(words: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a training of 12 steps in two epochs; tests must not write into it."""

    def fill(folder: Path) -> None:
        done = train(folder, words, "train.max_steps=12", "system.log_interval=5")
        assert done.returncode == 0, done.stdout + done.stderr
        assert "ONEDNN_MAX_CPU_ISA" not in done.stdout  # oneDNN computes in its own layouts

    return filled_once(tmp_path_factory, "ocr_run", fill)
