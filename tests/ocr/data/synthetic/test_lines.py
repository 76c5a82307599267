"""Rendered lines of words, numbers and signs."""

import cv2
import numpy as np

from hccl_kit.ocr.data.synthetic.lines import LONGEST, rendered_lines


def test_they_are_the_same_everywhere_and_of_many_kinds() -> None:
    lines = rendered_lines(200, seed=0)
    texts = [line.text for line in lines]
    assert texts == [line.text for line in rendered_lines(200, seed=0)]
    assert texts != [line.text for line in rendered_lines(200, seed=1)]
    assert len(set(texts)) > 150
    assert max(map(len, texts)) <= LONGEST
    for kind in (str.islower, str.isupper, str.istitle):
        assert sum(map(kind, texts)) > 10, kind
    assert sum(any(map(str.isdigit, text)) for text in texts) > 50
    assert sum(" " in text for text in texts) > 50


def test_an_image_is_drawn_when_it_is_read() -> None:
    first, again = (rendered_lines(3, seed=0)[2] for _ in range(2))
    assert first.data is not None
    assert again.data is not None
    assert first.data() == again.data()
    image = cv2.imdecode(np.frombuffer(first.data(), np.uint8), cv2.IMREAD_COLOR)
    assert image is not None
    assert 8 <= image.shape[0] <= 26
    assert image.shape[0] < image.shape[1]
