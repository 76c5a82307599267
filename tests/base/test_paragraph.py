"""Wrapped text: English at blanks, Chinese at any character, both by the cells that they take in a terminal."""

from hccl_kit.base.paragraph import filled
from hccl_kit.base.terminal import text_width

ENGLISH = "ranks 3 and 5 never joined: `hccl-kit explain LOG` on their own logs names the cause"
CHINESE = "某个 rank 无法到达 root 节点所在的主机：网卡、防火墙、HCCL_SOCKET_IFNAME（见 `hccl-kit env TABLE` 的输出）"


def test_lines_fit_the_width_and_lose_nothing() -> None:
    for text in (ENGLISH, CHINESE):
        for width in range(30, 100):
            lines = filled(text, width, "fix:  ", " " * 6).split("\n")
            assert max(map(text_width, lines)) <= width
            assert lines[0].startswith("fix:  ") and all(line.startswith(" " * 6) for line in lines[1:])
            assert "".join("".join(line[6:].split()) for line in lines) == "".join(text.split())


def test_a_command_and_punctuation_stay_where_they_belong() -> None:
    for width in range(30, 100):
        lines = filled(CHINESE, width).split("\n")
        assert any("`hccl-kit env TABLE`" in line for line in lines)
        assert not any(line.startswith(tuple("，。；：、）")) for line in lines)
        assert not any(line.endswith("（") for line in lines)


def test_a_word_that_is_too_long_has_its_own_line() -> None:
    assert filled("see /var/log/" + "a" * 40 + " there", 20) == "see\n/var/log/" + "a" * 40 + "\nthere"
