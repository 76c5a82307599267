"""Options that all tests share."""

import gc
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.places import FILES_OF_MPIRUN

SOME = 40
"""Hypothesis examples per test, unless it sets a number or long tests run; each run draws different ones."""
CACHE = Path(__file__).parent.parent / ".test_cache"
settings.register_profile("any machine", deadline=None)  # a busy machine may be slow, which is not an error
settings.register_profile("some examples", settings.get_profile("any machine"), max_examples=SOME)


def pytest_configure(config: pytest.Config) -> None:
    """Sets the number of hypothesis examples, and what programs started by tests inherit.

    They speak English, inherit neither ignored signals nor color settings, and have a separate cache folder, where the
    convolutions of MindSpore are compiled once, and the graphs of each job. mpirun does not start if an mpirun with
    the same PID was killed, so the folder for its files is new.

    In the background (`pytest &` in a script, nohup) signals are ignored; a program with a handler starts its children
    with the default.
    """
    gc.disable()  # until all is collected: a quarter of that time
    settings.load_profile("some examples" if "not long" in config.getoption("markexpr") else "any machine")
    for name in ("NO_COLOR", "FORCE_COLOR"):
        os.environ.pop(name, None)
    os.environ["LC_ALL"] = "C.UTF-8"
    os.environ.pop("MS_COMPILER_CACHE_ENABLE", None)
    os.environ["HCCL_KIT_CACHE"] = str(CACHE)
    os.environ[FILES_OF_MPIRUN] = tempfile.mkdtemp(prefix="mpirun.")
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


def pytest_unconfigure() -> None:
    shutil.rmtree(os.environ.pop(FILES_OF_MPIRUN), ignore_errors=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the golden files anew, then look at the diff")
    parser.addoption("--corpus", type=Path, metavar="FOLDER", help="also check collections that are not in the project")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect tests that need --corpus if it is not given, and interleave the files that train with the others.

    The others wait for programs, mostly for Slurm, while those that train keep the cores busy.
    """
    if config.getoption("--corpus") is None:
        without = [item for item in items if "corpus" in getattr(item, "fixturenames", ())]
        config.hook.pytest_deselected(items=without)
        items[:] = [item for item in items if item not in without]
    trains = {item.path for item in items if item.get_closest_marker("train")}
    paths = dict.fromkeys(item.path for item in items)
    place: dict[Path, float] = {}
    for kind in ([path for path in paths if path in trains], [path for path in paths if path not in trains]):
        place |= {path: number / len(kind) for number, path in enumerate(kind)}
    items.sort(key=lambda item: place[item.path])


def pytest_collection_finish() -> None:
    """Exclude imported modules from garbage collection: MindSpore collects before each graph that it compiles.

    With all test modules loaded, that takes longer than compiling a small network.
    """
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def corpus(pytestconfig: pytest.Config) -> Path:
    """The folder of --corpus: third-party rank tables in `corpus`, images of text in `data`."""
    folder: Path = pytestconfig.getoption("--corpus")
    return folder


@pytest.fixture(scope="session", autouse=True)
def working_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests run in an empty folder, so that none finds what a user has in the checkout: runs/, data/, hccl_logs/."""
    before = Path.cwd()
    os.chdir(tmp_path_factory.mktemp("working_folder"))
    yield
    os.chdir(before)


@pytest.fixture
def no_privileges(tmp_path: Path) -> Iterator[None]:
    """The folder `closed` of tmp_path is inaccessible: root, who could access it, becomes nobody for the test."""
    (tmp_path / "closed").mkdir(mode=0)
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    yield
    os.seteuid(user)
