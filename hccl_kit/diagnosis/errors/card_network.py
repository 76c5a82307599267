"""The network of a card: its port and address, TLS, direct access (P2P), the super pod."""

from __future__ import annotations

from collections.abc import Iterator

from hccl_kit.diagnosis.errors.message import LogMessage, rank, whole
from hccl_kit.diagnosis.errors.ports import LINK_STAGE
from hccl_kit.diagnosis.errors.row import in_stage, known
from hccl_kit.diagnosis.facts import Fact, P2PTimedOut, Tls


@whole
def _p2p_timed_out(message: LogMessage) -> Iterator[Fact]:
    if peer := message.value("peer"):
        yield P2PTimedOut(rank(peer))


def _tls(message: LogMessage) -> Iterator[Fact]:
    """The switch that a process prints for itself; the tool of the card names the card too."""
    if message.value("card") is None:
        yield Tls(message.value("on") == "1")


ROWS = (
    *in_stage(
        LINK_STAGE,
        known(r"""cause EI0009 EJ0002 needs_context of_card
the network port of a card has no link
line: Device (?P<card>[0-9]{1,6}) transport init error\.? ?Reason: ?[Tt]he network port is down
line: [Tt]he network port is down
example: EI0009: Device 3 transport init error. Reason: The network port is down.
says: the card is {card}
cause: a cable or optical module is unplugged or faulty, or the switch's port is off
cause: the card has no address
apart: hccn_tool -i N -link -g; hccn_tool -i N -optical -g; hccn_tool -i N -ip -g; hccn_tool -i N -lldp -g
fix: bring the port up, or leave this card out of the job
"""),
        known("""cause EJ0002 of_card
the network port of a card is down
cause: a cable or optical module is unplugged or faulty, or the switch's port is off
cause: the card has no address
apart: hccn_tool -i N -link -g; hccn_tool -i N -optical -g; hccn_tool -i N -ip -g
fix: bring the port up, or leave this card out of the job
"""),
        known("""cause EJ0004
an address of a card was refused when its network port was opened
cause: device_ip of the rank table is not the address of the card
cause: the card has no address
apart: hccn_tool -i N -ip -g
fix: write the address that the tool prints into the table, or set the address of the card
"""),
        known("""cause EI0010
two cards of one server cannot reach each other directly (P2P), such as cards of the two halves of a server with 16; the
    message names them. No rule of a table detects this: use cards of one half, or set HCCL_INTRA_ROCE_ENABLE=1
cause: cards of the two halves of a server with 16 cards, or without a direct link
cause: a virtual machine or the BIOS (IOMMU, ACS) blocks P2P
apart: npu-smi info -t topo
fix: use cards of one half, or HCCL_INTRA_ROCE_ENABLE=1 on all ranks
"""),
        known(r"""pointer EI0006 EI0010
two cards of one server did not connect in time (P2P)
line: connected p2p timeout, ?timeout ?: ?(?P<seconds>[0-9]{1,6}) ?s\.? ?local logicDevid ?: ?(?P<own>
    [0-9]{1,6}), ?remote physic id ?: ?(?P<peer>[0-9]{1,6})
mention: Wait\]\[P2PConnected\]
mention: connected p2p timeout
mention: Wait timeout for get P2P status
example: [ERROR] HCCL(77,python3):2025-06-15-15:06:40.500.000 [op_base.cc:12] [78][Wait][P2PConnected]connected p2p
    timeout, timeout:130 s. local logicDevid:0, remote physic id:1.
says: this process (its card {own}) waited {seconds} s for physical card {peer} of the same server
cause: the process of the other card ended or hangs, or never called
cause: the two cards have no direct link, or a virtual machine blocks P2P
apart: the log of the process on the other card; npu-smi info -t topo
fix: correct the other process; without a direct link HCCL_INTRA_ROCE_ENABLE=1
""")._replace(fact=_p2p_timed_out),
        known(r"""cause EI0011
the card does not have enough memory for HCCL's connections. No rule of a table detects this: end other processes on the
    card, or reduce the batch size
line: Insufficient_Device_Memory\(EI0011\)(?:: ?Failed to allocate (?P<size>[^\n]{1,120}? )bytes of NPU memory)?
line: Failed to allocate (?P<size>[^\n]{1,120}? )bytes of NPU memory
example: Insufficient_Device_Memory(EI0011): Failed to allocate 2097152 bytes of NPU memory
says: it asked for {size}
cause: the model or the cache takes all memory of the card
cause: another process holds memory of the card
apart: npu-smi info: memory and processes of the card
fix: leave more memory free (batch size, cache share), use fewer RoCE links, or end the other process
"""),
        known(r"""cause
the driver of the card lacks a function that HCCL calls: it is older than CANN needs
line: this package does not support (?P<function>\w{1,60})[^\n]{0,60}please change new package
example: this package does not support hrtRaAiQpX for device, please change new package
says: the function is {function}
cause: driver and firmware (HDK) are older than this release of CANN needs
apart: cat /usr/local/Ascend/driver/version.info; the release notes of CANN name its driver
fix: install the driver and firmware that the release notes of your CANN name
"""),
        known(r"""cause in_output
a tensor on another device than the card was given to a collective
line: No backend type associated with device type (?P<device>\w{1,20})
example: RuntimeError: No backend type associated with device type cpu
says: it is on {device}
cause: a tensor was not moved to the card before all_reduce, broadcast or the like
cause: the process group has only the backend hccl, and CPU tensors need gloo too
apart: the traceback names the call; tensor.device
fix: move the tensor with .npu(), or init_process_group('cpu:gloo,npu:hccl')
"""),
        known(r"""fact EI0006
the super pod of this rank, printed with a link that failed; over VNIC both ends must be in one physical super pod
line: local rank information:? ?nicType ?\[(?P<nic>\w{1,30})\](?:, ?logicSuperPodId(?: ?\[(?P<logic>
    [^\]\n]{0,60})\]| is not set), ?phySuperPodId ?\[(?P<physical>[^\]\n]{0,60})\])?
example: [ERROR] HCCL(77,python3):2025-06-15-15:06:40.500.000 [op_base.cc:12] [78][PrintErrorInfo]local rank
    information: nicType[VNIC_TYPE], logicSuperPodId[a], phySuperPodId[1]. Note
says: the link is of type {nic}, the physical super pod is {physical}
says: HCCL_LOGIC_SUPERPOD_ID is {logic} for this rank
cause: VNIC and unequal phySuperPodId at the two ends: HCCL_LOGIC_SUPERPOD_ID joins servers without such a link
apart: grep -rh "phySuperPodId" */debug/plog: compare both ends
fix: if the physical ids differ: unset HCCL_LOGIC_SUPERPOD_ID, or give each physical super pod its own
"""),
    ),
    known(r"""fact
the history of the link of a card's port; while it is down, packets are lost (EI0013)
line: \[devid (?P<card>[0-9]{1,4})\] ?link down count +: ?(?P<count>[0-9]{1,8})
line: \[devid (?P<card>[0-9]{1,4})\] +(?P<time>\w{3} \w{3} +[0-9: ]{13,16})\s+LINK DOWN
line: \[devid (?P<card>[0-9]{1,4})\] ?(?:current time|link up count|link change records|  .{10,30}LINK UP)
example: [devid 3] link down count : 4
says: card {card} lost its link {count} times
says: card {card} lost its link at {time}
says: card {card}
cause: the cable, the optical module, or the port of the switch
fix: compare the time with that of the error; change cable or module
"""),
    known(r"""value
TLS of the network port of a card
line: TLS SWITCH ?\((?P<on>[01])\)
mention: dev_id ?: ?(?P<card>[0-9]{1,6}), ?tls switch ?\[(?P<on>[01])\]
example: [INFO] HCCP(2,hccp_service.bin):2025-06-15-15:06:40.500.000 [s.c:1]tid:2,rs_init(1) : TLS SWITCH (1)
says: the switch is {on}: 0 is off, 1 is on
says: the card is {card}
cause: if it differs between the ends of a link, both ends time out (EI0006)
apart: hccn_tool -i N -tls -g on all servers
fix: set it to the same value on all cards: hccn_tool -i N -tls -s enable 0|1
""")._replace(fact=_tls),
)
