"""The tutorial from its top. It trains as README does, so it has a file of its own: files are run side by side."""

from pathlib import Path

import pytest

from tests.docs.desk import follow
from tests.docs.pages import TUTORIAL


@pytest.mark.train
@pytest.mark.long  # its commands are those that the README, tests/ocr/programs and tests/distributed run
def test_what_the_tutorial_shows_is_what_its_reader_sees(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    follow(TUTORIAL, tmp_path, update=request.config.getoption("--update-golden"))
