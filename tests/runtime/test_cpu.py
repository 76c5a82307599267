"""A rank that waits for a group regularly logs the missing ranks, and times out in the end."""

import socket
from collections import Counter

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.runtime import cpu
from hccl_kit.runtime.worker_env import WorkerEnv


class Store:
    """A fake store with counters. The ranks in `late` join at the `after`-th query."""

    def __init__(self, *present: int, late: tuple[int, ...] = (), after: int = 10) -> None:
        self.counts: Counter[str] = Counter()
        self.late, self.after, self.asked = late, after, 0
        for rank in present:
            self.come(rank)

    def come(self, rank: int) -> None:
        self.add(f"{cpu.JOINED}.{rank}", 1)
        self.add(cpu.JOINED, 1)

    def add(self, key: str, amount: int) -> int:
        self.asked += not amount
        if self.asked == self.after:
            late, self.late = self.late, ()
            for rank in late:
                self.come(rank)
        self.counts[key] += amount
        return self.counts[key]


def env(rank: int, size: int) -> WorkerEnv:
    return WorkerEnv(rank, size, rank, size, 0, "127.0.0.1", 1)


def test_a_complete_group_logs_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    cpu.wait_for_all_ranks(Store(0, 2), env(1, 3))
    assert capsys.readouterr() == ("", "")


def test_the_ranks_that_are_missing_are_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cpu, "LOG_INTERVAL", 0)
    cpu.wait_for_all_ranks(Store(0, late=(2, 3)), env(1, 4))
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) > 1
    assert set(lines) == {"rank 1 of 4 is waiting for ranks 2, 3, 0 s so far"}


@pytest.mark.parametrize("host", ["192.0.2.1", "127.0.0.1", "fd00::1"])
def test_an_address_is_used_unchanged(host: str) -> None:
    assert cpu.address_to_join(WorkerEnv(0, 2, 0, 1, 0), host) == host


def test_a_name_is_resolved_to_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostbyname", {"n1": "192.0.2.1"}.get)
    assert cpu.address_to_join(WorkerEnv(1, 2, 0, 1, 0), "n1") == "192.0.2.1"


def test_a_name_that_is_unknown_is_reported() -> None:
    with pytest.raises(KitError, match=r"^MASTER_ADDR=no-such-host\.invalid cannot be resolved"):
        cpu.address_to_join(env(1, 2), "no-such-host.invalid")
    for name in ("node..x", "n" * 64):
        with pytest.raises(KitError, match=f"^MASTER_ADDR={name} cannot be resolved: "):
            cpu.address_to_join(env(1, 2), name)


def test_rank_0_does_not_listen_on_loopback_for_several_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostbyname", lambda _: "127.0.1.1")
    with pytest.raises(
        KitError, match=r"^MASTER_ADDR=n1 is 127\.0\.1\.1 on this host, where other hosts cannot reach rank 0$"
    ):
        cpu.address_to_join(WorkerEnv(0, 2, 0, 1, 0), "n1")
    assert cpu.address_to_join(WorkerEnv(0, 2, 0, 2, 0), "n1") == "127.0.1.1"  # all ranks are on this host
    assert cpu.address_to_join(WorkerEnv(1, 2, 0, 1, 0), "n1") == "127.0.1.1"  # rank 0 declares it itself


def test_waiting_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu, "LOG_INTERVAL", 0.01)
    monkeypatch.setattr(cpu, "JOIN_TIMEOUT", 0.1)
    with pytest.raises(KitError, match=r"^rank 1 of 2 timed out after 0 s waiting for rank 0$"):
        cpu.wait_for_all_ranks(Store(), env(1, 2))


def test_a_rank_0_that_does_not_listen_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cpu, "LOG_INTERVAL", 0.01)
    monkeypatch.setattr(cpu, "JOIN_TIMEOUT", 0.2)
    with pytest.raises(KitError, match=r"waiting for rank 0 to listen on 127\.0\.0\.1:1$") as caught:
        cpu.wait_until_listening(env(1, 2), "127.0.0.1", 1)
    assert caught.value.hint == "did rank 0 start? see its log"
    assert "rank 1 of 2 is waiting for rank 0 to listen on 127.0.0.1:1, 0 s so far\n" in capsys.readouterr().err
