"""How torch, torch_npu and gloo wrap errors of HCCL, and what they print themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hccl_kit.diagnosis.errors.message import LogMessage, rank, whole
from hccl_kit.diagnosis.errors.row import KnownError, known
from hccl_kit.diagnosis.facts import Fact, Fault, Oversized, Watchdog

ABOVE = 'the codes below it (EI...), else: grep -rh "ERROR. HCCL" ~/ascend/log/debug/plog | head'
_WATCHED = (
    "a rank is behind, or called another operator: its SeqNum or OpType differs",
    "a rank ended, or its card failed, before",
    "the operator is slow on purpose (save, load, compile) and the timeout too short",
)
MISMATCH = "gloo received another size than it expected: the ranks are in different collectives"


def _watchdog(message: LogMessage) -> Iterator[Fact]:
    operator = message.value("operator")
    if operator is None or message.number("limit") is None:
        return
    before = message.text.partition("atchdog caught")[0]
    named = re.search(r"\[[Rr]ank ?([0-9]{1,8})\]", before)
    group = re.search(r"\[PG ID ([^\s\]]{1,80})", before)
    yield Watchdog(
        rank(named[1] if named else message.value("rank")),
        message.number("number"),
        operator,
        group[1] if group else None,
    )


def _gloo_timeout(message: LogMessage) -> Iterator[Fact]:
    yield Watchdog(message.rank, None, None, None)


@whole
def _mismatch(message: LogMessage) -> Iterator[Fact]:
    """Gloo ends a process that receives more than it expects; that rank or one that sends to it is wrong."""
    yield Fault(None, "TORCH", MISMATCH, message.shown, True)


@whole
def _oversized(message: LogMessage) -> Iterator[Fact]:
    """The line after that of `_mismatch`, with both sizes."""
    yield Oversized(int(message.match["expected"]))


ROWS: tuple[KnownError, ...] = (
    known(r"""cause in_output
a tensor of one card was given the memory of another one
line: Attempted to set the storage of a tensor on device "npu:(?P<card>[0-9]{1,4})" to a storage on different device "
    npu:(?P<other>[0-9]{1,4})"
example: RuntimeError: Attempted to set the storage of a tensor on device "npu:4" to a storage on different device
    "npu:0".
says: the tensor is on card {card}, the memory on card {other}
cause: a checkpoint was loaded without map_location, so that its tensors went to the card that had saved them
cause: one process holds several cards (device_map="auto") in a program for one card per process
apart: the frame of the traceback: what is loaded or moved there
fix: torch.load(..., map_location="cpu"); one process for each card, with torch.npu.set_device(LOCAL_RANK) at its start
"""),
    known(r"""cause
a call on a card that this thread has not set (device -1)
line: Could not compute stream ID for \S{1,40} on device -1
example: RuntimeError: 0 INTERNAL ASSERT FAILED at "/torch_npu/csrc/core/npu/NPUStream.cpp":281, please report a bug to
    PyTorch. Could not compute stream ID for 0xfffd on device -1
cause: torch.npu.set_device(LOCAL_RANK) was not called before, or not in this thread
apart: the frame of the traceback: which thread makes the tensor
fix: call torch.npu.set_device(int(os.environ['LOCAL_RANK'])) before the first use of the card, in each thread
"""),
    known(r"""symptom needs_context
torch_npu's watchdog: an operator of this rank did not finish in time
line: (?:\bRank (?P<rank>[0-9]{1,8})\] )?[Ww]atchdog caught collective operation timeout: ?Work\w{1,8}\(SeqNum=
    (?P<number>[0-9]{1,12})(?:, ?OpType=(?P<operator>\w{1,40}))?(?:[^\n]{0,200}?Timeout\(ms\)=(?P<limit>[0-9]{1,12})\)
    (?: ran for (?P<ran>[0-9]{1,12}))?)?
example: [rank9]:[E324 13:00:25.428 a.ts:1] [Rank 9] Watchdog caught collective operation timeout: WorkHCCL(SeqNum=196,
    OpType=ALLREDUCE, Timeout(ms)=1800000) ran for 1800185 milliseconds before timing out.
says: rank {rank}, operator number {number}: {operator}
says: operator number {number}: {operator}
says: it ran {ran} ms; the limit is {limit} ms
apart: compare SeqNum and OpType over all ranks; then EI0002 and heartbeats in the plogs
fix: correct the rank that is behind or ended; else raise the timeout of init_process_group on all ranks
""")._replace(fact=_watchdog, causes=_WATCHED),
    known(r"""frame
torch_npu's watchdog ends the process because of an error of HCCL; the text after it names that error
line: HCCL watchdog thread terminated with exception
line: Some HCCL operations have failed or timed out
line: To avoid data inconsistency, we are taking the entire process down
line: ProcessGroupHCCL(?:'s)? watchdog
example: [rank3]:[E324] HCCL watchdog thread terminated with exception: HCCL error
fix: run `hccl-kit explain` on that error
""")._replace(causes=_WATCHED, tells_apart=ABOVE),
    known(r"""symptom
torch's store: the server's address is in 198.18.0.0/15, from which proxies take fake addresses
line: \[c10d\] The (?:server|client) socket on \[?(?:::ffff:)?(?P<ip>198\.1[89]\.[0-9]{1,3}\.[0-9]{1,3})\]?(?::(?P<port>
    [0-9]{1,5}))? has timed out
example: [W1 socket.cpp:929] [c10d] The server socket on [::ffff:198.18.0.7]:4711 has timed out, will retry.
says: it is {ip}, port {port}
cause: a proxy (Clash, Surge: fake-ip) answers name queries with such an address, so that the host name of the master,
    or of this host, resolves to it
cause: an interface of the proxy (tun) was taken as that of the host
apart: getent hosts $(hostname); ip -brief address
fix: turn off the proxy's fake IPs on all hosts, or name real addresses: MASTER_ADDR, VLLM_HOST_IP, HCCL_SOCKET_IFNAME,
    GLOO_SOCKET_IFNAME
"""),
    known(r"""symptom in_output
torch's store: a process timed out waiting for others at the rendezvous; HCCL has not started
line: imed out after (?P<seconds>[0-9]{1,6}) seconds waiting for clients\. (?P<came>[0-9]{1,6})/(?P<needed>
    [0-9]{1,6}) clients joined
line: (?:TCPStore|c10d)[^\n]{0,80}Socket Timeout
line: store->get\('[^'\n]{0,80}'\)[^\n]{0,40}Socket Timeout
line: wait timeout after (?P<millis>[0-9]{1,9}) ?ms, keys: ?(?P<keys>[^\n]{1,160})
line: DistStoreError
line: client socket has timed out after (?P<millis>[0-9]{1,9}) ?ms while trying to connect to \((?P<keys>[^)\n]{1,80})\)
line: waiting for clients\. (?P<came>[0-9]{1,6})/(?P<needed>[0-9]{1,6}) clients joined
line: \[c10d\] The server socket on (?P<keys>\S{1,80}) has timed out, will retry
line: client socket has failed
line: \bRendezvous(?:Timeout|Connection)Error\b
example: torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 1/8 clients joined.
says: {came} of {needed} processes joined within {seconds} s
says: it waited {millis} ms for {keys}
cause: a process ended or hangs before init_process_group, or was not started
cause: MASTER_ADDR or MASTER_PORT is not reachable, or differs between processes
cause: WORLD_SIZE is larger than the number of processes
apart: count the processes on each host; from a worker: nc -vz MASTER_ADDR MASTER_PORT
fix: start the missing process; set MASTER_ADDR, MASTER_PORT and GLOO_SOCKET_IFNAME to the same values on all
"""),
    known(r"""symptom in_output
torch's store: the connection to the process that holds it, usually rank 0, is lost
line: \[(?P<rank>[0-9]{1,8})\] is setting up \wCCL communicator and retrieving \w{1,8}UniqueId from \[(?P<root>
    [0-9]{1,8})\][^\n]{0,160}?got error: (?P<reason>[^\n]{1,120})
line: ailed to recv, got 0 bytes
example: RuntimeError: [3] is setting up HCCL communicator and retrieving hcclUniqueId from [0] via c10d key-value store
    by key '0', but store->get('0') got error: failed to recv, got 0 bytes
says: rank {rank} of the group waits for rank {root} of it: {reason}
cause: that process failed, or was ended: its own log has the cause
cause: it had ended its part of the job while this one was still starting
cause: a proxy or a firewall closes the connection
apart: the output of rank 0 before this time; dmesg -T on its host
fix: correct what the log of that process shows
"""),
    known(r"""frame in_output
a call to HCCL failed; the number at its end is the HcclResult
line: HCCL function error ?[:：] ?(?P<call>\w{1,60})[^\n]{0,200}?,? ?error code is (?P<result>[0-9]{1,3})\b
line: HCCL error in ?: ?(?P<where>\S{1,160})
line: Check failed: status == HCCL_SUCCESS ?\([^\n]{0,40}\)
line: ERR02200\b
line: DIST call hccl api failed
example: RuntimeError: create:a.ts:1 HCCL function error: hcclCommInitRootInfo(n, &(c->h)), error code is 15
says: {call} returned {result}
says: in {where}
cause: the codes below it (EI...) name the reason; without any, an argument or variable was refused
cause: the first error in the plog of this process
fix: run `hccl-kit explain` on that error
""")._replace(tells_apart=ABOVE),
    known(r"""cause
torch's store could not listen on its port: another process of this host uses it
line: server socket has failed to bind to \[(?P<address>[^\[\]\n]{1,64})\]:(?P<port>[0-9]{1,5}) \(errno: 98
example: [W socket.cpp:436] [c10d] The server socket has failed to bind to [::]:29500 (errno: 98 - in use).
says: it is port {port} of {address}
cause: a process of an earlier job still runs
cause: two jobs of this host use the same MASTER_PORT
apart: ss -ltnp | grep PORT
fix: end the earlier job, or set another MASTER_PORT on all ranks
"""),
    known(r"""symptom
this rank waited for another one in a collective of gloo, until the timeout of its group
line: gloo/transport/\w{1,20}/unbound_buffer\.cc:[0-9]{1,5}\] Timed out waiting (?P<limit>[0-9]{1,12})ms for (?P<what>
    recv|send) operation to complete
example: RuntimeError: [gloo/transport/tcp/unbound_buffer.cc:78] Timed out waiting 8000ms for recv operation to complete
says: it waited {limit} ms in {what}
cause: a rank hangs, or is late by more than the timeout: it loads, saves or computes
cause: a rank ended before, or called another collective
apart: the ranks without this error: py-spy dump --pid PID before they are ended; the last step of each rank
fix: find the rank that waits for none; raise timeout= of init_process_group if it is only slow
""")._replace(fact=_gloo_timeout),
    known(r"""symptom in_output
gloo could not connect to a process in time
line: gloo/rendezvous/context\.cc:[0-9]{1,5}\] [Cc]onnect timeout(?: \[(?P<ip>[0-9a-fA-F.:]{3,45})\]:(?P<port>
    [0-9]{1,5}))?
example: RuntimeError: [../third_party/gloo/gloo/rendezvous/context.cc:113] Connect timeout [10.0.0.2]:34567
says: it is {ip}, port {port}
cause: that process ended, or hangs before it joins the group
cause: the hosts use interfaces that do not reach each other
apart: the log of that process; from this host: nc -vz IP PORT; ip -br address on both
fix: correct what the log of that process shows; set GLOO_SOCKET_IFNAME to the interface that the hosts share
"""),
    known("""cause in_output
torch's store could not listen on its port: another process of this host uses it
line: server socket has failed to listen on any local network address
example: [E socket.cpp:472] [c10d] The server socket has failed to listen on any local network address.
cause: a process of an earlier job still runs
cause: two jobs of this host use the same MASTER_PORT
apart: ss -ltnp | grep PORT
fix: end the earlier job, or set another MASTER_PORT on all ranks
"""),
    known(r"""cause
gloo does not find the interface that GLOO_SOCKET_IFNAME names, or an address for it
line: ifa != nullptr\. Unable to find address for: (?P<interface>[\w.:@-]{1,32})
example: RuntimeError: [enforce fail at gloo/transport/tcp/device.cc:83] ifa != nullptr. Unable to find address for:
    eth0
says: it looks for {interface}
cause: the interface has another name on this host
cause: it has no address, or is not in the container
apart: ip -br address
fix: set GLOO_SOCKET_IFNAME to the interface that has this host's address
"""),
    known(r"""frame in_output
a call to the runtime failed; its number is the error code
line: (?:NPU|OPS) function error ?[:：] ?(?:call )?(?P<call>(?!failed)[\w.:]{1,80})[^\n]{0,160}?,? ?error code is
     (?P<result>[0-9]{1,6})\b
line: \bNPU error, ?(?:NPU )?error code is ?:? ?(?P<result>[0-9]{1,6})\b
line: \bERR0[0134][13]00\b
example: RuntimeError: NPU function error: aclrtSetDevice(id), error code is 107001
says: {call} returned {result}
says: it returned {result}
cause: the codes below it (EE..., EI..., EZ...) name the reason
apart: the codes below it; the first ERROR of the plog of this process
fix: run `hccl-kit explain` on that error
"""),
    known(r"""frame in_output
torch_npu printed only the message of CANN (TORCH_NPU_COMPACT_ERROR_OUTPUT=1); code and stack are in its plog
line: \bCANN error: ?(?P<message>[^\n]{1,160})
example: RuntimeError: CANN error: The argument is invalid.Reason: the shape does not fit
says: CANN says: {message}
cause: what the message says
apart: the plog of this process: codes EE, EI, EL, EZ near its end
fix: export TORCH_NPU_COMPACT_ERROR_OUTPUT=0, or run `hccl-kit explain` on the plog
"""),
    KnownError(
        MISMATCH,
        role="symptom",
        patterns=(r"instance of 'gloo::EnforceNotMet'",),
        example="terminate called after throwing an instance of 'gloo::EnforceNotMet'",
        fact=_mismatch,
        causes=("a rank called another collective, or the same one with another size",),
        tells_apart="TORCH_DISTRIBUTED_DEBUG=DETAIL: each rank then compares its calls with those of the others",
        fix="make all ranks call the same collectives in the same order with the same sizes",
    ),
    known(r"""symptom
the sizes that gloo received and expected: the ranks are in different collectives
line: op\.preamble\.length <= op\.nbytes\. (?P<received>[0-9]{1,15}) vs (?P<expected>[0-9]{1,15})\b
says: it received {received} bytes, and expected {expected}
cause: a rank called another collective, or the same one with another size
apart: TORCH_DISTRIBUTED_DEBUG=DETAIL: each rank then compares its calls with those of the others
fix: make all ranks call the same collectives in the same order with the same sizes
""")._replace(
        example="  what():  [enforce fail at gloo/transport/tcp/pair.cc:456] op.preamble.length <= op.nbytes. 256 vs"
        " 200. Received data size doesn't match expected size.",
        fact=_oversized,
    ),
)
