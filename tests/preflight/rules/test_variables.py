"""The variables of HCCL and the driver: valid values and valid combinations."""

from collections.abc import Sequence
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.preflight.probes.cards import named
from hccl_kit.preflight.rules.variable_values import BY_PRODUCT, VALUES
from hccl_kit.preflight.rules.variable_verdict import refusal
from hccl_kit.preflight.rules.variables import (
    cards_meant,
    of_another_launcher,
    value_not_accepted,
    value_unknown,
    variables_contradict,
    visible_devices,
)
from hccl_kit.table.products import PRODUCT_NAMES, PRODUCTS
from tests.preflight.nodes import faults, messages, node, root_with_cann, table_value


def test_values_are_accepted_exactly_as_by_hccl(tmp_path: Path) -> None:
    root = root_with_cann(tmp_path, "9.1.0")
    for name, good, bad in (
        (
            "HCCL_CONNECT_TIMEOUT",
            ["120", "7200", "0600"],
            ["119", "7201", "600s", "", " 600", "-1", "\u0661\u0662\u0660"],
        ),
        ("HCCL_EXEC_TIMEOUT", ["0", "1800", "68.25", "2147483647"], ["1.234", "-1", "", "2147483648"]),
        ("HCCL_RDMA_TC", ["0", "100", "252"], ["101", "256", "-4", "4.0", ""]),
        ("HCCL_RDMA_SL", ["0", "7"], ["8", "", "x"]),
        ("HCCL_RDMA_TIMEOUT", ["5", "24"], ["4", "25"]),
        ("HCCL_RDMA_RETRY_CNT", ["1", "7"], ["0", "8"]),
        ("HCCL_BUFFSIZE", ["1", "200", "010"], ["0", "00", "", "1.5", "200M"]),
        ("HCCL_IF_BASE_PORT", ["1024", "65520"], ["1023", "65521", "auto"]),
        (
            "HCCL_HOST_SOCKET_PORT_RANGE",
            ["auto", "", "60000", "60000-60015, 61000"],
            ["60015-60000", "0-5", "1-2,2-3", "x"],
        ),
        ("HCCL_NPU_SOCKET_PORT_RANGE", ["61000-61050"], ["61000-70000", "AUTO"]),
        ("HCCL_IF_IP", ["10.0.0.1", "fe80::1%eth0"], ["", "10.0.0", "node1"]),
        ("HCCL_SOCKET_IFNAME", ["eth", "=eth0,enp0", "^docker", "^=lo"], ["", "=", "eth,", ",eth", "a,,b"]),
        ("HCCL_SOCKET_FAMILY", ["AF_INET", "AF_INET6"], ["af_inet", "4", ""]),
        ("HCCL_WHITELIST_DISABLE", ["0", "1"], ["2", "true", ""]),
        ("HCCL_DETERMINISTIC", ["true", "FALSE", "Strict"], ["1", ""]),
        (
            "HCCL_OP_RETRY_ENABLE",
            ["L1:1", "L0:0, L1:1, L2:0", ""],
            ["1", "L3:1", "L1:2", "L1:1,L1:0", "L1:1,", ",L1:1"],
        ),
        (
            "HCCL_OP_RETRY_PARAMS",
            ["MaxCnt:3,HoldTime:5000,IntervalTime:1000", "MaxCnt:10, HoldTime:0, IntervalTime:60000"],
            ["MaxCnt:30,HoldTime:1,IntervalTime:1", "MaxCnt:0,HoldTime:1,IntervalTime:1", "HoldTime:1", "3,5,1"],
        ),
        (
            "HCCL_ALGO",
            [
                "level0:NA;level1:ring",
                "level1:H-D_R",
                "level0:ring; level1:NHR; level2:NB; level3:null",
                "allreduce=level0:NA;level1:ring/alltoall=level0:NA;level1:pairwise",
                "others=level1:NHR",
                "",
            ],
            [
                "ring",
                "level0:NA,level1:ring",
                "level0:NA;level1:ring;",
                "level0:NA;level0:ring",
                "level4:ring",
                "level1:Ring",
                "level1:H-D",
                "=level0:NA/level1:pairwise",
                "level0:NA/level1:pairwise",
                "alltoall=level0:NA&level1:pairwise",
                "AllReduce=level1:ring",
                "allreduce=level1:ring;level0:null",
                "allreduce=level1:ring/level1:ring",
                "allreduce=level1:ring/",
            ],
        ),
        (
            "HCCL_DEBUG_CONFIG",
            ["ALG", "alg,Task", "^RESOURCE", "ALG,,TASK", "^", ""],
            ["ALL", "ALG TASK", "^^ALG", "1"],
        ),
        ("HCCL_ALG_MULTIPLE_DIMENSION_SPLIT_RATIO", ["0.5", "2", "-1"], []),
        ("HCCL_LOGIC_SUPERPOD_ID", ["pod 1"], ["x" * 128, "\u8d85" * 43, "\udcff" * 128]),
    ):
        for value in good:
            assert faults(value_not_accepted, node(environ={name: value}, root=root)) == [], value
        for value in bad:
            where = node(environ={name: value}, root=root, product="910" if name == "HCCL_RDMA_TIMEOUT" else None)
            (message,) = messages(value_not_accepted, where)
            assert message.startswith(f"{name}="), value
            assert "; accepted: " in message, value


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        (
            "HCCL_DFS_CONFIG",
            ["cluster_heartbeat:off", "connection_fault_detection_time:20,task_monitor_interval:7200000"],
            ["cluster_heartbeat:yes", "connection_fault_detection_time:19", "heartbeat:on", "", "task_exception"],
        ),
        ("HCCL_RDMA_PCIE_DIRECT_POST_NOSTRICT", ["TRUE", "false"], ["1"]),
        ("HCCL_RDMA_QP_PORT_CONFIG_PATH", ["/etc/qp"], ["qp", ""]),
        ("HCOMM_DEBUG_CONFIG", ["TASK", "^task,DATA_OP"], ["TASK, DATA_OP", "ALG"]),
        ("HCOMM_TA_RTP_UB_TIMEOUT", ["0", "31"], ["32", "x"]),
    ],
)
def test_a_value_at_which_hccl_may_not_stop_is_a_warning(
    name: str, good: list[str], bad: list[str], tmp_path: Path
) -> None:
    root = root_with_cann(tmp_path, "9.1.0")
    for value in good:
        assert faults(value_unknown, node(environ={name: value}, root=root)) == [], value
    for value in bad:
        where = node(environ={name: value}, root=root)
        assert messages(value_not_accepted, where) == []
        (message,) = messages(value_unknown, where)
        assert message.startswith(f"{name}=")


def test_every_fact_about_variables_and_products_has_a_source_a_date_and_releases() -> None:
    accepted = [*VALUES.values(), *(row for values in BY_PRODUCT.values() for row in values.values())]
    for origin in {row.origin for row in accepted} | {product.origin for product in PRODUCTS}:
        assert origin.source
        assert date.fromisoformat(origin.seen).year >= 2020
        assert (8, 0) <= origin.oldest <= origin.newest
        assert str(origin).startswith("valid for CANN ")


MODE, TIMEOUT, EXEC, LINKS = (
    *("HCCL_OP_EXPANSION_MODE", "HCCL_RDMA_TIMEOUT", "HCCL_EXEC_TIMEOUT", "HCCL_CONNECT_TIMEOUT"),
)


def test_only_what_the_release_refuses_on_the_product_is_an_error(tmp_path: Path) -> None:
    rows: list[tuple[str | None, str | None, str, str, str | None]] = [
        # The word that a release added: known from it on, an error before it where manual and code agree.
        ("9.1.0", "a5", MODE, "AICPU_TS", None),
        ("9.1.0-beta.1", "a5", MODE, "AICPU_TS", None),
        (None, "a5", MODE, "AICPU_TS", None),
        ("9.2.0", "a2", MODE, "AICPU_TS", None),
        ("9.0.0", "a5", MODE, "AICPU_TS", "error"),
        ("8.5.0", "a5", MODE, "CCU_SCHED", "error"),
        ("9.0.0", "a2", MODE, "AICPU_TS", "warning"),
        ("9.0.0", None, MODE, "AICPU_TS", "warning"),
        ("8.3.RC1", "a5", MODE, "AICPU_TS", "warning"),
        # A word in no list: newer releases may know it.
        ("9.1.0", "a5", MODE, "NEW", "error"),
        ("9.1.0", "a3", MODE, "NEW", "warning"),
        ("9.2.0", "a5", MODE, "NEW", "warning"),
        (None, "a5", MODE, "NEW", "warning"),
        # Ranges by product.
        *(("9.1.0", "a5", TIMEOUT, value, None) for value in ("0", "4", "31", "32")),
        ("9.1.0", "a5", TIMEOUT, "x", "error"),
        ("9.1.0", "a3", TIMEOUT, "24", "error"),
        ("9.1.0", "910", TIMEOUT, "24", None),
        ("9.1.0", None, TIMEOUT, "31", "warning"),
        ("9.1.0", None, TIMEOUT, "x", "error"),
        ("8.0.RC2", "910", EXEC, "0", "error"),
        ("9.1.0", "910", EXEC, "0.5", None),
        ("9.1.0", "910", EXEC, "17341", "error"),
        ("9.1.0", "a2", EXEC, "17341", None),
        # Ranges that all known releases share.
        ("8.3.RC2", None, LINKS, "60", "error"),
        (None, None, LINKS, "60", "warning"),
        ("9.2.0", "a2", LINKS, "60", "warning"),
        ("7.0.0", "a2", LINKS, "60", "warning"),
    ]
    for number, row in enumerate(rows):
        cann, product, name, value, verdict = row
        root = tmp_path / str(number)
        root.mkdir()
        root = root_with_cann(root, cann) if cann else root
        where = node(environ={name: value}, product=product, root=root)
        told = {"error": len(messages(value_not_accepted, where)), "warning": len(messages(value_unknown, where))}
        assert told == {one: int(one == verdict) for one in ("error", "warning")}, row


NOT_UTF8 = st.characters(min_codepoint=0xDC80, max_codepoint=0xDCFF, categories=["Cs"])
"""The representation of bytes that are not UTF-8 in os.environ."""


@given(
    st.sampled_from(sorted(VALUES)),
    st.text(st.characters(codec="utf-8") | NOT_UTF8),
    st.sampled_from(["auto", *PRODUCT_NAMES]),
)
def test_any_text_is_accepted_or_refused(name: str, text: str, product: str) -> None:
    found = refusal(name, text, product=product, cann="9.1.0")
    assert found is None or found.message.startswith(f"{name}=")


@pytest.mark.parametrize(
    ("pcie", "roce", "is_legal"),
    [
        (None, None, True),
        ("1", None, True),
        (None, "1", True),
        ("1", "0", True),
        ("0", "1", True),
        ("0", "0", True),
        ("1", "1", False),
        ("0", None, False),
        (None, "0", False),
    ],
)
def test_pcie_and_roce_must_not_be_enabled_together(pcie: str | None, roce: str | None, is_legal: bool) -> None:
    given_ = {"HCCL_INTRA_PCIE_ENABLE": pcie, "HCCL_INTRA_ROCE_ENABLE": roce}
    environ = {name: value for name, value in given_.items() if value is not None}
    assert (faults(variables_contradict, node(environ=environ)) == []) is is_legal


def test_variables_for_starts_with_and_without_a_table_must_not_be_mixed() -> None:
    environ = {"CM_CHIEF_IP": "10.0.0.1", "RANK_ID": "0", "RANK_TABLE_FILE": "/t.json"}
    (fault,) = faults(variables_contradict, node(environ=environ))
    assert fault.message.startswith("CM_CHIEF_IP with RANK_TABLE_FILE and RANK_ID: ")
    assert fault.hint == "unset CM_CHIEF_IP"


def test_an_enabled_whitelist_must_exist(tmp_path: Path) -> None:
    listed = tmp_path / "whitelist"
    environ = {"HCCL_WHITELIST_DISABLE": "0", "HCCL_WHITELIST_FILE": str(listed)}
    assert "not a readable file" in messages(variables_contradict, node(environ=environ))[0]
    assert "is not set" in messages(variables_contradict, node(environ={"HCCL_WHITELIST_DISABLE": "0"}))[0]
    listed.write_text("{}")
    assert faults(variables_contradict, node(environ=environ)) == []
    assert faults(variables_contradict, node(environ={"HCCL_WHITELIST_DISABLE": "1"})) == []


def test_leftover_variables_of_launchers_are_one_finding() -> None:
    environ = {"MS_ROLE": "MS_WORKER", "MS_SCHED_PORT": "8118", "RANK_ID": "0", "OMPI_COMMAND": ""}
    (fault,) = faults(of_another_launcher, node(environ=environ))
    assert fault.message == "MS_ROLE, MS_SCHED_PORT of another launcher are set"
    assert fault.hint == "unset MS_ROLE MS_SCHED_PORT"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0,1,2,3", []),
        ("0,1,2,3,4,5,6,7", []),
        ("0, 1,2,3", ["without spaces"]),
        ("[0,4)", ["without spaces"]),
        ("", ["without spaces"]),
        ("1,0,2,3", ["is not in ascending order"]),
        ("0,0,1,2,3", ["is not in ascending order"]),
        ("4,5,6,7", ["hides cards 0 to 3"]),
        ("0,1", ["hides cards 2 to 3"]),
    ],
)
def test_visible_devices_must_be_ascending_and_include_the_cards(text: str, expected: list[str]) -> None:
    found = messages(visible_devices, node(made=table_value(1, 4), environ={"ASCEND_RT_VISIBLE_DEVICES": text}))
    assert len(found) == len(expected)
    assert all(words in message for words, message in zip(expected, found, strict=True))
    assert faults(visible_devices, node()) == []


def dev(root: Path, *cards: int) -> Path:
    (root / "dev").mkdir(exist_ok=True)
    for card in cards:
        (root / "dev" / f"davinci{card}").touch()
    return root


@pytest.mark.parametrize(("text", "hidden"), [("0,1,2,3", ()), ("4,5,6,7", ()), ("0,1", (6, 7)), ("0,1,2,3,4,5", ())])
def test_in_a_container_visible_devices_may_be_indices_into_dev(
    text: str, hidden: tuple[int, ...], tmp_path: Path
) -> None:
    made = table_value(1, 8)
    made["server_list"][0]["device"] = made["server_list"][0]["device"][4:]
    for rank, device in enumerate(made["server_list"][0]["device"]):
        device["rank_id"] = str(rank)
    where = node(made=made, environ={"ASCEND_RT_VISIBLE_DEVICES": text}, root=dev(tmp_path, 4, 5, 6, 7))
    found = messages(visible_devices, where)
    words = f" hides {named(hidden)} of the table" if hidden else ""
    assert found == ([f'ASCEND_RT_VISIBLE_DEVICES="{text}"{words}'] if hidden else [])


@pytest.mark.parametrize(
    ("visible", "in_dev", "number", "meant"),
    [
        (None, range(8), 4, {4}),  # our scripts: the physical id
        ("4,5,6,7", range(8), 0, {4}),  # msrun: an index into the list
        ("4,5,6,7", range(8), 4, set()),
        (None, (4, 5, 6, 7), 0, {0, 4}),  # in a container: indices into the cards in /dev
        ("0,1,2,3", (4, 5, 6, 7), 2, {2, 6}),
        ("4, 5", range(8), 1, {1}),  # HK609 reports the list
    ],
)
def test_cards_that_a_device_id_may_refer_to(
    visible: str | None, in_dev: Sequence[int], number: int, meant: set[int], tmp_path: Path
) -> None:
    environ = {} if visible is None else {"ASCEND_RT_VISIBLE_DEVICES": visible}
    assert cards_meant(node(environ=environ, root=dev(tmp_path, *in_dev)), number) == meant
