"""The commands of the tutorial. It trains, like the README, so it is a separate file: files are run in parallel."""

from pathlib import Path

import pytest

from tests.docs.desk import follow
from tests.docs.pages import TUTORIAL


@pytest.mark.train
@pytest.mark.long  # its commands are those that the README, tests/ocr/programs and tests/distributed run
def test_the_documented_output_of_the_tutorial_is_correct(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    follow(TUTORIAL, tmp_path, update=request.config.getoption("--update-golden"))
