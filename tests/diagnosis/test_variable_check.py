"""Settings of ranks are compared with the plan: each kind of difference is one line."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.diagnosis.rank_settings import Had
from hccl_kit.diagnosis.variable_check import check, identity
from hccl_kit.discovery.server_id import Interface
from hccl_kit.launch.hccl_variables import Host, VariablePlan, Wanted, plan_variables, script_variables
from hccl_kit.launch.job_ports import Kernel
from tests.launch.ways import servers

NOTHING: Mapping[str, str | None] = {}
TWO = servers([0, 1], [0, 1], ids=["10.0.0.1", "10.0.0.2"])


def planned(job: int = 0, kernel: Kernel | None = None) -> VariablePlan:
    known = Host((Interface("eth0", "10.0.0.1"),), kernel or Kernel())
    return plan_variables(TWO, Wanted(job), {"10.0.0.1": known, "10.0.0.2": known._replace(interfaces=())})


def had(source: str = "a", /, *, job: int = 0, changed: Mapping[str, str | None] = NOTHING) -> Had:
    """The settings of a rank of the plan with some changes; None unsets a variable."""
    values = {one.name: one.value for one in planned(job).variables} | dict(changed)
    there = {name: value for name, value in values.items() if value is not None}
    return Had(source, there, is_complete=True, cann="9.1.0")


def texts(*ranks: Had, job: int = 0, kernel: Kernel | None = None) -> list[str]:
    return [one.text for one in check(planned(job, kernel=kernel), ranks)]


@given(st.integers(0, 7), st.integers(1, 4))
def test_the_planned_values_give_no_difference(job: int, ranks: int) -> None:
    assert check(planned(job), [had(str(rank), job=job) for rank in range(ranks)]) == []
    by_script = dict(script_variables(TWO, job))
    assert check(planned(job), [Had("a", by_script, is_complete=True)]) == []
    assert check(planned(job), [Had("a", {}, is_complete=False)]) == []  # a log that mentions no variables


@given(st.lists(st.integers(0, 7), min_size=2, max_size=2, unique=True))
def test_the_ports_of_another_job_are_reported_as_such(jobs: list[int]) -> None:
    own, other = jobs
    found = texts(had(job=other), job=own)
    assert sum(f"; its ports overlap with those of job {other}" in text for text in found) == 3


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"HCCL_CONNECT_TIMEOUT": "60"}, 'HCCL_CONNECT_TIMEOUT="60"; accepted: 120 to 7200 (EI0001)'),
        ({"HCCL_CONNECT_TIMEOUT": "700"}, 'HCCL_CONNECT_TIMEOUT="700"; planned: 600'),
        ({"HCCL_CONNECT_TIMEOUT": None}, "HCCL_CONNECT_TIMEOUT is not set (120 by default); planned: 600"),
        (
            {"HCCL_EXEC_TIMEOUT": "600"},
            "HCCL_EXEC_TIMEOUT 600 is not above HCCL_CONNECT_TIMEOUT 600, so operators give up first",
        ),
        (
            {"HCCL_IF_BASE_PORT": None, "HCCL_HOST_SOCKET_PORT_RANGE": None},
            "HCCL_IF_BASE_PORT is not set (60000 by default); planned: 65408; every job without a plan listens there",
        ),
        (
            {"HCCL_IF_BASE_PORT": "65520"},
            'HCCL_IF_BASE_PORT="65520"; planned: 65408; ports 65520 to 65551 are not all from 1024 to 65535',
        ),
        (
            {"HCCL_HOST_SOCKET_PORT_RANGE": "61000, 64800-64810"},
            'HCCL_HOST_SOCKET_PORT_RANGE="61000, 64800-64810"; planned: 65408-65503; '
            "its ports overlap with those of job 5",
        ),
        (
            {"HCCL_IF_BASE_PORT": "40000"},
            'HCCL_IF_BASE_PORT="40000"; planned: 65408; 40000 to 40031 are in the ephemeral port range',
        ),
        (
            {"HCCL_INTRA_PCIE_ENABLE": "1", "HCCL_INTRA_ROCE_ENABLE": "1"},
            "HCCL_INTRA_PCIE_ENABLE=1 and HCCL_INTRA_ROCE_ENABLE=1; at most one of them may be 1 (EI0001)",
        ),
        (
            {"HCCL_INTRA_ROCE_ENABLE": "0"},
            "HCCL_INTRA_ROCE_ENABLE=0 and HCCL_INTRA_PCIE_ENABLE is not set (EI0001)",
        ),
        ({"MASTER_PORT": "29500"}, 'MASTER_PORT="29500"; planned: 65520'),
        ({"HCCL_IF_IP": "10.9.9.9"}, 'HCCL_IF_IP="10.9.9.9" is not an address of the table, which has 10.0.0.1'),
    ],
)
def test_each_difference_is_one_line(changed: dict[str, str | None], expected: str) -> None:
    assert expected in texts(had(changed=changed))


def test_ports_in_the_ephemeral_range_are_reported() -> None:
    wide = Kernel((60000, 65535), ((60000, 60031), (64000, 65535)))
    found = texts(had(job=7, changed={"HCCL_IF_BASE_PORT": "61500"}), job=7, kernel=wide)
    assert any("61500 to 61531 are in the ephemeral port range" in text for text in found)


def test_switches_of_links_contradict_only_if_all_variables_are_known() -> None:
    values = {"HCCL_INTRA_ROCE_ENABLE": "0"}
    assert texts(Had("a plog", values, is_complete=False)) == []
    assert texts(had(changed={**values, "HCCL_INTRA_PCIE_ENABLE": "1"})) == []


def test_an_invalid_value_is_one_line() -> None:
    found = check(planned(), [had(changed={"HCCL_CONNECT_TIMEOUT": "60"})])
    assert [one.variable for one in found] == ["HCCL_CONNECT_TIMEOUT"]


def test_a_value_that_another_release_may_accept_is_a_warning() -> None:
    mode = {"HCCL_OP_EXPANSION_MODE": "NEW"}
    for cann, product, severity in (("9.1.0", "a5", "error"), (None, "a5", "warning"), ("9.2.0", "a5", "warning")):
        (found,) = check(planned(), [had(changed=mode)._replace(cann=cann)], product)
        assert (found.severity, found.text.endswith(" (EI0001)")) == (severity, severity == "error")
    assert check(planned(), [had(changed={"HCCL_OP_EXPANSION_MODE": "AICPU_TS"})]) == []


def test_a_rank_that_several_processes_have_is_an_error() -> None:
    ranks = [had(f"process {number}", changed={"RANK_ID": str(number // 2)}) for number in range(3)]
    (found,) = check(planned(), [*ranks, ranks[0], had("the shell")])
    assert found.text == 'RANK_ID="0" in process 0, process 1; each rank is one process'
    assert found.severity == "error"


def test_other_ports_of_the_same_job_are_reported() -> None:
    assert texts(had(changed={"HCCL_HOST_SOCKET_PORT_RANGE": "65410-65420"})) == [
        'HCCL_HOST_SOCKET_PORT_RANGE="65410-65420"; planned: 65408-65503'
    ]


def test_intentional_and_equivalent_differences_are_not_reported() -> None:
    own = dict.fromkeys(("MASTER_PORT", "HCCL_HOST_SOCKET_PORT_RANGE"))
    assert texts(had(changed=own)) == []
    other = {"HCCL_EXEC_TIMEOUT": "1836.00", "HCCL_IF_IP": "10.0.0.1", "HCCL_SOCKET_IFNAME": "=eth0"}
    assert texts(had(changed=other)) == []


def test_ranks_that_differ_are_named() -> None:
    """A variable outside of the plan counts too; the interface of a server does not."""
    ranks = [
        had(f"r{number}", changed={"HCCL_BUFFSIZE": "200", "HCCL_SOCKET_IFNAME": f"eth{number}"}) for number in range(3)
    ]
    ranks.append(had("r3", changed={"HCCL_BUFFSIZE": "400"}))
    ranks += [Had(f"log{value}", {"HCCL_DETERMINISTIC": value}, is_complete=False) for value in "01"]
    found = [(one.source, one.text) for one in check(planned(), ranks)]
    assert found == [
        (None, 'HCCL_BUFFSIZE differs: "200" (r0, r1, r2), "400" (r3)'),
        (None, 'HCCL_DETERMINISTIC differs: "0" (log0), "1" (log1)'),
    ]


def test_timeouts_of_a_log_are_compared_but_not_values_in_other_notations() -> None:
    ranks = [had("a"), Had("log", {"HCCL_DETERMINISTIC": "0", "HCCL_CONNECT_TIMEOUT": "130"}, is_complete=False)]
    assert [(one.source, one.text) for one in check(planned(), ranks)] == [
        ("log", 'HCCL_CONNECT_TIMEOUT="130"; planned: 600'),
        (None, 'HCCL_CONNECT_TIMEOUT differs: "600" (a), "130" (log)'),
    ]


def test_the_interface_of_a_single_server_must_select_its_address() -> None:
    one = servers([0, 1], ids=["10.0.0.1"])
    plan = plan_variables(one, Wanted(), {"10.0.0.1": Host((Interface("eth0", "10.0.0.1"),), Kernel())})
    values = {each.name: each.value for each in plan.variables}
    for name, count in (("eth", 0), ("=eth0", 0), ("=eth1", 1), ("^eth", 1)):
        assert len(check(plan, [Had("a", {**values, "HCCL_SOCKET_IFNAME": name}, is_complete=True)])) == count


@given(st.dictionaries(st.sampled_from([one.name for one in planned().variables]), st.text(max_size=30)))
def test_any_value_can_be_compared(values: dict[str, str]) -> None:
    check(planned(), [Had("a", values, is_complete=True), Had("b", values, is_complete=False)])


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"RANK_ID": "0", "RANK_SIZE": "4"}, ""),
        ({"RANK_ID": "4"}, "RANK_ID=4, and the table has ranks 0 to 3"),
        ({"RANK_ID": "0", "RANK_SIZE": "2"}, "RANK_SIZE=2, and the table has 4 ranks"),
        ({"RANK_ID": "first"}, 'RANK_ID="first" is not a number'),
        ({"MF_CONFIG_STORE_URL": "tcp://PIP:PORT"}, 'MF_CONFIG_STORE_URL="tcp://PIP:PORT" is a placeholder'),
    ],
)
def test_ranks_and_sizes_outside_the_table_and_placeholders_are_differences(
    values: Mapping[str, str], text: str
) -> None:
    found = identity(TWO, [Had("a", values, is_complete=True)])
    assert [one.text for one in found] == [text][: bool(text)]
    assert all(one.severity == ("warning" if "placeholder" in text else "error") for one in found)


def test_two_start_scripts_that_both_count_from_0_are_named() -> None:
    ranks = [Had(source, {"RANK_ID": "0", "RANK_SIZE": "2"}, is_complete=True) for source in ("a", "b")]
    assert 'RANK_ID="0" in a, b; each rank is one process' in texts(*ranks)
    assert [one.text for one in identity(TWO, ranks)] == ["RANK_SIZE=2, and the table has 4 ranks"] * 2
