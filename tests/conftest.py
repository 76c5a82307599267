"""Options that all tests share."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("any machine", deadline=None)  # a busy one is slow now and then, which is no fault of ours
settings.load_profile("any machine")


def pytest_configure() -> None:
    """The programs that tests start inherit neither ignored signals nor the wish for colors.

    In the background (`pytest &` in a script, nohup) signals are ignored; a program with a handler starts others with
    the default.
    """
    for name in ("NO_COLOR", "FORCE_COLOR"):
        os.environ.pop(name, None)
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the golden files anew, then look at the diff")
    parser.addoption("--corpus", type=Path, metavar="FOLDER", help="also check collections that are not in the project")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what needs --corpus if it is not given, and start with the files that train: they take the longest."""
    if config.getoption("--corpus") is None:
        without = [item for item in items if "corpus" in getattr(item, "fixturenames", ())]
        config.hook.pytest_deselected(items=without)
        items[:] = [item for item in items if item not in without]
    trains = {item.path for item in items if item.get_closest_marker("train")}
    items.sort(key=lambda item: item.path not in trains)


@pytest.fixture(scope="session")
def corpus(pytestconfig: pytest.Config) -> Path:
    """The folder of --corpus: rank tables of others in `corpus`, images of text in `data`."""
    folder: Path = pytestconfig.getoption("--corpus")
    return folder


@pytest.fixture
def no_privileges(tmp_path: Path) -> Iterator[None]:
    """The folder `closed` of tmp_path may not be looked into: root, who may always, becomes nobody for the test."""
    (tmp_path / "closed").mkdir(mode=0)
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    yield
    os.seteuid(user)
