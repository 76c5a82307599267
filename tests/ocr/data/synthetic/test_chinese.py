"""The common Chinese characters are those of GB 2312, level 1."""

from hccl_kit.ocr.data.synthetic import chinese


def test_the_common_characters_are_ideographs_in_standard_order() -> None:
    common = chinese.common()
    assert len(common) == len(set(common)) == 3755
    assert (common[0], common[-1]) == ("啊", "座")
    assert all("\u4e00" <= character <= "\u9fff" for character in common)
    assert {"的", "一", "是", "不", "了"} <= set(common)
