"""HcclResult 1 to 24: what calls of HCCL return."""

from __future__ import annotations

from hccl_kit.diagnosis.errors.row import KnownError, known

_ABOVE = "grep -h ERROR ~/ascend/log/debug/plog/plog-PID_*.log | head -3: the first error of the same process"


def _row(text: str) -> KnownError:
    """The row of a result: its number and its name, then what it means."""
    head, _, rest = text.partition("\n")
    number, name = head.split()
    row = known(f"result\nHCCL_E_{name}: {rest}")
    codes, fix = (f"HcclResult {number}", f"HCCL_E_{name}"), "run `hccl-kit explain` on the lines that it prints"
    return row._replace(codes=codes, tells_apart=_ABOVE, fix=row.fix or fix)


ROWS: tuple[KnownError, ...] = (
    _row("""1 PARA
an argument or an environment variable was refused
cause: a variable is out of range: EI0001, a line with EnvConfig
cause: the rank table is refused: EI0004, EI0014, a line with Ranktable
cause: a point-to-point group on a product without it (pipeline parallelism on 310P): use tensor parallelism there
"""),
    _row("""2 PTR
a pointer was null
cause: a buffer of the card could not be allocated: EL0004, 207001 or `out of memory` near it; each communicator takes
    twice HCCL_BUFFSIZE
cause: a call before the communicator exists, or after it is destroyed
"""),
    _row("""3 MEMORY
memory of the host could not be allocated or copied
cause: the host, or the limit of the container, is out of memory
cause: a buffer is smaller than the arguments of the operator require
"""),
    _row("""4 INTERNAL
an error inside HCCL
cause: an earlier error of another rank, which was reported to this one
cause: an error of the driver or the runtime: the first ERROR of another module is the cause
"""),
    _row("""5 NOT_SUPPORT
this operation is not supported on this product or in this mode
cause: the chip or release lacks the operator, the data type or the mode (HCCL_OP_EXPANSION_MODE)
"""),
    _row("""6 NOT_FOUND
something that is needed was not found
cause: a file, a card, an interface or a group is missing
"""),
    _row("""7 UNAVAIL
a resource is not available
cause: a port is taken: a line with `listen on ip`, EI0019 or EI0020
cause: another process holds the card: EJ0001
fix: end the other process, or give the jobs ports of their own (HCCL_IF_BASE_PORT, HCCL_NPU_SOCKET_PORT_RANGE)
"""),
    _row("""8 SYSCALL
a system call failed
cause: too many open files, no permission, no memory: ulimit -n
"""),
    _row("""9 TIMEOUT
a timeout: a link was not set up, or another rank did not arrive in time
cause: the far end ended, hangs or is late: EI0006, EI0002 or EI0015 near it name it
cause: the network or TLS between the two
fix: correct the far end; only if it is late on purpose, raise HCCL_CONNECT_TIMEOUT or HCCL_EXEC_TIMEOUT
"""),
    _row("""10 OPEN_FILE
a file could not be opened
cause: the path is wrong in the container, or may not be read
"""),
    _row("""11 TCP_CONNECT
a TCP connection, or listening for one, failed on the host network
cause: the root's address or port is not reachable: HCCL_SOCKET_IFNAME, HCCL_IF_IP, a firewall
cause: the port is taken (60000 and up)
cause: the root ended or has not started
fix: set HCCL_SOCKET_IFNAME to the interface that all hosts share; free or change the port (HCCL_IF_BASE_PORT)
"""),
    _row("""12 ROCE_CONNECT
a RoCE connection between two cards failed
cause: the port of a card has no link or another address: hccn_tool -i N -link -g, -ip -g
cause: the card network does not connect the two servers, or TLS differs
fix: bring the port up; hccn_tool -i N -ping -g address PEER must answer
"""),
    _row("""13 TCP_TRANSFER
sending or receiving over TCP failed: the other end closed the connection
cause: the process at the other end ended or gave up: its log has the reason, often in the same second
fix: correct the other end
"""),
    _row("""14 ROCE_TRANSFER
sending or receiving over RoCE failed
cause: the other end ended
cause: packets were lost: EI0013, hccn_tool -i N -link_stat -g
fix: correct the other end, else the link
"""),
    _row("""15 RUNTIME
a call to the CANN runtime failed; the network is not the cause
cause: the card number or the mask of visible cards: EE1001, EE9999, 107001
cause: the memory of the card is used up: 207001
cause: driver, firmware and CANN are not compatible; CANN older than 8.1.RC1 with one visible card per process
fix: correct what the EE or runtime code near it names; update CANN
"""),
    _row("""16 DRV
a call to the driver failed
cause: the driver, the card or the container's devices: npu-smi info, dmesg
"""),
    _row("""17 PROFILING
a call to the profiler failed
cause: the profiler's folder is full or may not be written
"""),
    _row("""18 CCE
a call to the cube computing engine failed
cause: the package of operators is broken or of another release
"""),
    _row("""19 NETWORK
a call to a network interface failed, such as listening on a port of the card
cause: the port of the card (16666) is taken by another process on the card: a line with `listen on ip` above
cause: the port of the card has no link or no address
fix: end the other process, or set HCCL_NPU_SOCKET_PORT_RANGE=auto on all ranks; bring the port up
"""),
    _row("""20 AGAIN
try again: not ready yet
cause: no error by itself; if it is repeated, the other end does not answer
"""),
    _row("""21 REMOTE
an error completion (CQE) came from another card: its packets were lost although they were retransmitted
cause: the other end ended before
cause: the link of a port flapped: hccn_tool -i N -link_stat -g
fix: look at the other end (EI0013, `cqe error status` names it), then at the link
"""),
    _row("""22 SUSPENDING
the communicator is suspended, since its error is being handled
cause: an earlier fault, from which the framework recovers
"""),
    _row("""23 OPRETRY_FAIL
an operator could not be tried again after a fault of a link (HCCL_OP_RETRY_ENABLE)
cause: the link is broken for longer than the retries wait
cause: a rank had started another operator already
fix: repair the link: EI0013 or heartbeats name it
"""),
    _row("""24 OOM
memory is used up
cause: the card: npu-smi info
cause: the host or the limit of the container: free -h
"""),
)
