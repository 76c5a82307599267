"""The kernel of a host, and the cores of its ranks."""

import os

import pytest

from hccl_kit.preflight.node import CannotTellError
from hccl_kit.preflight.rules.containers import virtual_cards
from hccl_kit.preflight.rules.host_system import DIRECT_POST, remote_cores, unsuitable_kernel
from tests.preflight.machines import A2, Machine, table_of
from tests.preflight.nodes import messages

NEAR = "".join(f"NPU{card} X HCCS {24 * card}-{24 * card + 23}\n" for card in range(8))


@pytest.fixture
def a2(machine: Machine) -> Machine:
    machine.file("sys/devices/system/cpu/online", "0-191\n")
    machine.smi_says("topo", NEAR)
    return machine


def test_an_old_kernel_matters_on_x86_with_atlas_950(a5: Machine) -> None:
    for release, processor, is_named in (
        ("5.18.0-1", "vendor_id : AuthenticAMD", True),
        ("5.19.0-1", "vendor_id : AuthenticAMD", False),
        ("6.6.0", "vendor_id : AuthenticAMD", False),
        ("5.10.0", "CPU implementer : 0x48", False),
        ("?", "vendor_id : AuthenticAMD", False),
    ):
        a5.file("proc/sys/kernel/osrelease", release)
        a5.file("proc/cpuinfo", f"processor : 0\n{processor}\n")
        assert bool(messages(unsuitable_kernel, a5.node())) == is_named, (release, processor)


def test_large_pages_matter_to_jobs_of_several_servers(a2: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sysconf", lambda _: 65536)
    assert messages(unsuitable_kernel, a2.node()) == [
        f"the memory pages of this host have 64 KiB, and {DIRECT_POST} is not TRUE"
    ]
    assert messages(unsuitable_kernel, a2.node(environ={**a2.environ, DIRECT_POST: "true"})) == []
    assert messages(unsuitable_kernel, a2.node(made=table_of(A2, 1))) == []


def test_settings_that_slow_the_host_down_are_named_with_what_the_manual_advises(a2: Machine) -> None:
    governor = "sys/devices/system/cpu/cpu{}/cpufreq/scaling_governor"
    a2.file("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n")
    a2.file(governor.format(0), "performance\n")
    a2.file(governor.format(1), "powersave\n")
    assert messages(unsuitable_kernel, a2.node()) == [
        "cpu governor: performance and powersave; the manual of MindIE advises performance",
        "transparent huge pages: madvise; the manual of MindIE advises always",
    ]
    a2.file("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n")
    a2.file(governor.format(1), "performance\n")
    assert messages(unsuitable_kernel, a2.node()) == []


def test_the_cores_of_torch_npu_are_compared_with_those_near_the_cards(a2: Machine) -> None:
    for value, expected in (
        ("1", []),
        ("0,npu0:24-47", []),
        ("2,npu0:24-30", ["gives card 0 the cores 24-30; near it are 0-23 (cards that are bound like this: 1)"]),
        ("2,npu0:0-20,npu1:20-40", ["gives cards 0 and 1 the same cores 20"]),
        ("1,npu_affine:1,npu0:24-47", []),
        ("1,npu99:0-3", []),
    ):
        texts = messages(remote_cores, a2.node(environ={**a2.environ, "CPU_AFFINITY_CONF": value}))
        assert len(texts) == len(expected), (value, texts)
        assert all(part in text for part, text in zip(expected, texts, strict=True)), (value, texts)


def test_renumbered_cards_are_not_judged(a2: Machine) -> None:
    environ = {**a2.environ, "CPU_AFFINITY_CONF": "1", "ASCEND_RT_VISIBLE_DEVICES": "4,5"}
    with pytest.raises(CannotTellError, match="changes the numbers of the cards"):
        messages(remote_cores, a2.node(environ=environ))


def test_a_virtual_card_in_a_container_is_named(a2: Machine) -> None:
    assert messages(virtual_cards, a2.node()) == []
    a2.file("dev/davinci100", "")
    assert messages(virtual_cards, a2.node()) == ["HCCL supports no virtual cards; /dev has davinci100"]
