"""The part of the environment that a bug report shows."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.diagnosis.environment import MAX_VALUE, mask_of, masked_variables
from hccl_kit.preflight.system_settings import job_variables


def shown(environ: Mapping[str, str], host: str = "") -> dict[str, str]:
    return masked_variables(job_variables(environ), mask_of(environ, host))


@pytest.mark.parametrize(
    ("name", "value", "after"),
    [
        ("HCCL_IF_IP", "10.0.0.7", "<address 1>"),
        ("HCCL_IF_IP", "127.0.0.1", "127.0.0.1"),
        ("HCCL_IF_IP", "fd00::7", "<address 1>"),
        ("HCCL_IF_IP", "::ffff:10.0.0.7", "<address 1>"),
        ("HCCL_SOCKET_IFNAME", "=eth0", "=eth0"),
        ("HCCL_CONNECT_TIMEOUT", "600", "600"),
        ("MASTER_ADDR", "node-17.example.com", "<host 1>"),
        ("MASTER_ADDR", "localhost", "localhost"),
        ("SLURM_JOB_NODELIST", "node[01-16]", "<host 1>"),
        ("SLURM_TIME", "12:00:00", "12:00:00"),
        ("OMPI_MCA_orte_hnp_uri", "123;tcp://10.0.0.7,10.0.0.8:4711", "123;tcp://<address 1>,<address 2>:4711"),
        ("HCCL_OWN_SECRET", "/tmp/secret", "<hidden>"),
        ("VC_API_TOKEN", "abc", "<hidden>"),
        ("SLURM_JOB_USER", "alice", "<hidden>"),
        ("RANK_TABLE_FILE", "/home/alice/hccl/t.json", "~/<name 1>/<name 2>.json"),
        ("RANK_TABLE_FILE", "/home/alice2/logs/rank_0.log", "/home/<user 1>/logs/rank_0.log"),
        ("RANK_TABLE_FILE", "/data/box-3/log.txt", "/data/<host 1>/log.txt"),
        ("MA_PROXY", "http://alice:pw@proxy/", "http://<hidden>@<host 1>/"),
        ("HCCL_MAC", "0a:1b:2c:3d:4e:5f", "<address 1>"),
    ],
)
def test_addresses_hosts_and_secrets_are_masked(name: str, value: str, after: str) -> None:
    assert shown({name: value, "HOME": "/home/alice"}, "box-3") == {name: after}


def test_equal_addresses_are_masked_equally() -> None:
    environ = {"HCCL_IF_IP": "10.0.0.7", "MASTER_ADDR": "10.0.0.7", "MS_SCHED_HOST": "10.0.0.8"}
    assert list(shown(environ).values()) == ["<address 1>", "<address 1>", "<address 2>"]


def test_other_variables_are_not_shown() -> None:
    assert shown({"AWS_SECRET": "1", "PATH": "/bin", "MAIL": "a@b", "HOME": "/root"}) == {}


@given(st.ip_addresses(v=4) | st.ip_addresses(v=6), st.sampled_from(["{}", "a={};", "[{}]:1", "x {} y", "{},{}"]))
def test_no_address_is_shown(address: object, form: str) -> None:
    after = shown({"HCCL_X": form.replace("{}", str(address))})["HCCL_X"]
    assert str(address) not in after or address.is_loopback or address.is_unspecified  # type: ignore[attr-defined]


def test_a_long_value_is_truncated() -> None:
    assert len(shown({"HCCL_X": "x" * 10_000})["HCCL_X"]) == MAX_VALUE
