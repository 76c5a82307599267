"""Word images, a reference job of two ranks, and a check that no job leaves a rank behind."""

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.distributed.jobs import DUMP, Job
from tests.places import ROOT
from tests.shared_folder import filled_once

if not find_spec("mindspore"):  # installed without the extra `train`
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session")
def words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """96 training and 20 test images."""

    def fill(folder: Path) -> None:
        folder.mkdir()
        done = Job(folder, folder).run(
            ["python", ROOT / "tools" / "render_words.py", "--output", folder, "--train", "96", "--test", "20"]
        )
        assert done.returncode == 0, done.stderr

    return filled_once(tmp_path_factory, "words", fill)


@pytest.fixture(scope="session")
def new_job(words: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Job]]:
    """Creates jobs; at the end, checks that none of them has left a process."""
    jobs: list[Job] = []

    def make() -> Job:
        jobs.append(Job(tmp_path_factory.mktemp("job"), words))
        return jobs[-1]

    yield make
    for job in jobs:
        assert list(job.processes()) == []


@pytest.fixture
def job(new_job: Callable[[], Job]) -> Iterator[Job]:
    """A job for this test only."""
    made = new_job()
    yield made
    left = list(made.processes())
    made.kill()
    assert left == []


@pytest.fixture(scope="session")
def two_ranks(words: Path, tmp_path_factory: pytest.TempPathFactory) -> Job:
    """Two finished ranks, started by the script of hccl-gen, with dumps of their parameters."""

    def fill(folder: Path) -> None:
        folder.mkdir()
        job = Job(folder, words)
        done = job.run(job.script(program=DUMP))
        assert done.returncode == 0, done.stdout + done.stderr
        assert list(job.processes()) == []

    return Job(filled_once(tmp_path_factory, "two_ranks", fill), words)
