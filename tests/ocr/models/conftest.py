"""What the tests of networks share."""

from collections.abc import Iterator

import mindspore as ms
import pytest


@pytest.fixture
def pynative() -> Iterator[None]:
    """Operator by operator, as the reference ran; nothing to compile."""
    ms.set_context(mode=ms.PYNATIVE_MODE)
    yield
    ms.set_context(mode=ms.GRAPH_MODE)
