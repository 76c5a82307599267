"""Variables that do not do what they say, and values that were never filled in."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

import pytest

from hccl_kit.preflight.rules.variable_use import OVERRIDES, not_filled_in, placeholders, without_effect
from tests.preflight.nodes import NAME, messages, node

AIV = {"HCCL_OP_EXPANSION_MODE": "AIV"}


@pytest.mark.parametrize(
    ("environ", "product", "text"),
    [
        (
            {**AIV, "HCCL_EXEC_TIMEOUT": "0"},
            None,
            "HCCL_EXEC_TIMEOUT=0, and HCCL_OP_EXPANSION_MODE=AIV waits for 1091 s",
        ),
        ({**AIV, "HCCL_EXEC_TIMEOUT": "1091"}, None, ""),
        ({"HCCL_OP_EXPANSION_MODE": "CCU_MS", "HCCL_EXEC_TIMEOUT": "65536"}, "a5", "HCCL_EXEC_TIMEOUT=65536, and "),
        ({"HCCL_OP_EXPANSION_MODE": "CCU_MS", "HCCL_EXEC_TIMEOUT": "65535"}, "a5", ""),
        ({"HCCL_EXEC_TIMEOUT": "600"}, "910", "HCCL_EXEC_TIMEOUT=600, and HCCL of this product takes 544 s"),
        ({"HCCL_EXEC_TIMEOUT": "10"}, "910", "HCCL_EXEC_TIMEOUT=10, and HCCL of this product takes 68 s"),
        ({"HCCL_EXEC_TIMEOUT": "600"}, "a2", ""),
        ({**AIV, "HCCL_DETERMINISTIC": "Strict"}, None, "HCCL_OP_EXPANSION_MODE=AIV does not count, since "),
        ({"TASK_QUEUE_ENABLE": "2", "ASCEND_LAUNCH_BLOCKING": "1"}, None, "TASK_QUEUE_ENABLE=2 does not count"),
        ({"DEEPEP_HCCL_BUFFSIZE": "400", "HCCL_BUFFSIZE": "200"}, None, 'HCCL_BUFFSIZE="200" does not count for the '),
        ({"DEEPEP_HCCL_BUFFSIZE": "400"}, None, ""),
        (
            {"MF_CONFIG_STORE_URL": "tcp://a:1", "ASCEND_MF_STORE_URL": "tcp://b:1"},
            None,
            'MF_CONFIG_STORE_URL="tcp://a',
        ),
        (
            {"GLOO_SOCKET_IFNAME": f"{NAME},nic7"},
            None,
            'GLOO_SOCKET_IFNAME names "nic7"; the interfaces of this machine',
        ),
        ({"TP_SOCKET_IFNAME": NAME}, None, ""),
    ],
)
def test_a_variable_over_which_another_wins_is_named(
    environ: Mapping[str, str], product: str | None, text: str
) -> None:
    found = messages(without_effect, node(environ=environ, product=product))
    assert len(found) == bool(text)
    assert "".join(found).startswith(text)


def test_every_override_has_a_source_and_a_date() -> None:
    for override in OVERRIDES:
        assert override.origin.source
        assert date.fromisoformat(override.origin.seen).year >= 2020


@pytest.mark.parametrize(
    "value", ["tcp://PIP:PORT", "<ip>", "${NODE_IP}", "your_nic", "x.x.x.x", "{{ .Host }}", "10.0.0.1:PORT", "node1_ip"]
)
def test_a_word_of_an_example_is_a_placeholder(value: str) -> None:
    (text,) = messages(not_filled_in, node(environ={"MF_CONFIG_STORE_URL": value, "OTHER": value}))
    assert text.startswith("MF_CONFIG_STORE_URL=")


@pytest.mark.parametrize("value", ["tcp://10.0.0.1:24667", "eth0", "enp67s0f5,=lo", "[fe80::1%eth0]", "node1", ""])
def test_a_value_of_a_cluster_is_no_placeholder(value: str) -> None:
    assert placeholders({"HCCL_SOCKET_IFNAME": value, "MASTER_ADDR": value}) == {}
