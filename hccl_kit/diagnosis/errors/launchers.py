"""What launchers print about ranks that ended: torchrun, msrun, Slurm, Open MPI, DeepSpeed, Ray and our own scripts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from signal import SIGTERM

from hccl_kit.base.message import Message
from hccl_kit.base.process_end import killed_by
from hccl_kit.diagnosis.errors.ending import HOST_MEMORY, MORE_MEMORY
from hccl_kit.diagnosis.errors.message import LogMessage, rank, whole
from hccl_kit.diagnosis.errors.row import KnownError, known
from hccl_kit.diagnosis.facts import Exited, Fact, Fault

_ROOT_CAUSE = (
    r"Root Cause \(first observed failure\):(?:[^\n]{0,120}?\bhost *: (?P<host>\S{1,100}))?[^\n]{0,200}?"
    r"\brank *: (?P<rank>[0-9]{1,8}) \(local_rank: [0-9]{1,6}\)"
)
_IN_CHINESE = r"错误：(?P<host>[\w.:-]{1,255}) 的 "
_STILL = "已有 [0-9.e+]{1,12} 秒没有完成新的 step"
"""Parts of what `hccl-kit run` prints in Chinese, as in the catalogue."""
_MAX_NODES = 4096
_SIGNALS = {"Killed": 9, "Terminated": 15, "Segmentation fault": 11, "Aborted": 6, "Bus error": 7, "Hangup": 1}


@whole
def _ended(message: LogMessage) -> Iterator[Fact]:
    """A rank that our script saw end."""
    this_rank, code = rank(message.value("rank")), message.number("code")
    if this_rank is not None and code is not None and code < 256:
        yield Exited(this_rank, None, code - 128) if 128 < code < 193 else Exited(this_rank, code, None)


def _hang(message: LogMessage) -> Iterator[Fact]:
    yield Fault(None, "LAUNCHER", "a rank took no step for too long", message.shown)


@whole
def _slurm_task_ended(message: LogMessage) -> Iterator[Fact]:
    """`srun: error: n1: task 3: Killed`; a list of several tasks is what the end of the job did to them."""
    this_rank, code = rank(message.value("task")), message.number("code")
    if this_rank is not None:
        signal = _SIGNALS.get(message.value("signal") or "")
        yield Exited(this_rank, code, signal)


def _silent_nodes(message: LogMessage) -> Iterator[Fact]:
    """The list of msrun, at its end: nodes whose heartbeats the scheduler no longer received."""
    for digits in re.findall(r"\b[0-9]{1,8}\b", message.value("nodes") or "")[:_MAX_NODES]:
        if (node := rank(digits)) is not None:
            yield Exited(node, None, None)


def _killed(message: LogMessage) -> Iterator[Fact]:
    """A line of torchrun or DeepSpeed about a process that it started; what it did to the others is SIGTERM."""
    signal = -int(message.value("code") or 0)
    if signal > 0 and signal != SIGTERM:
        local = message.value("local")
        what = Message("diagnosis.local-rank", "local rank {rank} was {killed}", rank=local, killed=killed_by(signal))
        yield Fault(None, "LAUNCHER", what, message.shown)


def _aborted(message: LogMessage) -> Iterator[Fact]:
    yield Fault(None, "LAUNCHER", "ended the job with MPI_Abort", message.shown)


@whole
def _crashed(message: LogMessage) -> Iterator[Fact]:  # by the signal handler of Open MPI, which names no rank
    yield Fault(None, "LAUNCHER", "a process under Open MPI crashed", message.shown)


def _signalled(message: LogMessage) -> Iterator[Fact]:
    """A box of Open MPI 4 or 5: `origins` reads which rank it is about."""
    if message.rank is not None:
        yield Exited(message.rank, None, message.number("signal"), server=message.server, is_first=True)


ROWS: tuple[KnownError, ...] = (
    known(r"""pointer
a process of Ray ended without a Python error
line: The actor (?:died unexpectedly before finishing this task|is dead because its worker process has died)
line: A worker died or was killed while executing a task by an unexpected system error(?:
    [^\n]{0,400}?Worker IP address: (?P<host>[0-9a-fA-F.:]{3,60}))?(?:[^\n]{0,60}?Worker PID: (?P<pid>[0-9]{1,9}))?
example: (raylet) A worker died or was killed while executing a task by an unexpected system error. RayTask ID: 7 Worker
    IP address: 10.9.8.7 Worker port: 10005 Worker PID: 4711 Worker exit type: SYSTEM_ERROR
says: it is process {pid} on {host}
cause: it was killed for memory: by the kernel, or the limit of the container
cause: it crashed: its own log, or /tmp/ray/session_latest/logs, ends with the signal
apart: on that host: dmesg -T | grep -i 'killed process'; tail /tmp/ray/session_latest/logs/worker*PID*
""")._replace(fix="read that log: if the kernel killed it, " + MORE_MEMORY),
    known("""pointer
a process was killed with signal 9, which a program cannot catch: look at the memory of the host first
example: failed (exitcode: -9) local_rank: 3 (pid: 7) of binary: /usr/bin/python
says: it is rank {rank} on {host}
says: local rank {local} of this host, process {pid}
says: process {pid}
cause: the host, or the limit of the container, ran out of memory, and the kernel killed it
cause: a scheduler, a user or another launcher killed it
""")._replace(
        patterns=(
            r"\bexit(?:ed)?(?: with)?(?: exit)? code:? 137\b",
            r"\bexitCode: ?137\b",
            r"\b(?:exited|died|failed|ended|terminated)\b[^\n]{0,40}?\bcode -9\b",
            r"\bexits with return code = -9\b",
            r"failed \(exitcode: -9\) local_rank: (?P<local>[0-9]{1,6}) \(pid: (?P<pid>[0-9]{1,9})\)",
            _ROOT_CAUSE + r"[^\n]{0,200}?exitcode *: -9\b(?: \(pid: (?P<pid>[0-9]{1,9})\))?",
        ),
        tells_apart=HOST_MEMORY,
        fix="if the kernel killed it: " + MORE_MEMORY,
    ),
    known("""result vague
the summary of torchrun: which rank ended first; the output of that rank, above, has the cause
example: Root Cause (first observed failure): [0]: time : x host : n7 rank : 3 (local_rank: 1) exitcode : 1 (pid: 7)
says: rank {rank} on {host} ended first
says: rank {rank} ended first
says: its exit code is {exit}: 1 is a Python error, a negative one a signal (-6 abort, -11 crash, -15 ended by another)
cause: an error of that rank: its traceback is above, or in the file of --log-dir
cause: the -9 and -15 of other ranks are torchrun's own: it ends the rest
apart: torchrun --log-dir LOGS --redirects 3 keeps the output of each rank: read that of this rank
fix: explain the output of that rank: hccl-kit explain LOGS/*/attempt_0/RANK/stderr.log
""")._replace(
        patterns=(
            _ROOT_CAUSE + r"(?:[^\n]{0,200}?exitcode *: (?P<exit>-?[0-9]{1,4})\b)?",
            r"\berrors\.ChildFailedError:",
        )
    ),
    known(r"""pointer
processes stopped answering MindSpore's scheduler; msrun lists them
line: Time out nodes are \[(?P<nodes>['\"]?\w[^\]\n]{0,16384})\]
line: The node: (?P<nodes>[0-9]{1,8}) is timed out\. It may exit
line: Timed out node list is: [^\n]{0,400}?, worker (?P<nodes>[0-9]{1,8}) is the first one timed out
example: [ERROR] ME(77:281473590168608,MainProcess):2025-03-10-09:40:38.722.000 [m/_api.py:431] Time out nodes are ['3',
    '7']
says: nodes {nodes}: read worker_N.log of these nodes, and its end first
cause: the process ended: an error of its own, or killed for memory of the host, which leaves no error in its log
cause: the process hangs
apart: grep -n 'ERROR\|Traceback' worker_*.log scheduler.log; dmesg -T | grep -i 'killed process'
""")._replace(
        fact=_silent_nodes, fix="correct what worker_N.log of that node shows; if the kernel killed it, " + MORE_MEMORY
    ),
    known(r"""pointer vague
a worker of msrun ended with an error
line: \bWorker process (?P<pid>[0-9]{1,9}) exit with exception
line: There's worker exits with exception, kill all other workers
example: [ERROR] ME(7:8,Main): Worker process 4711 exit with exception.
says: it is process {pid}
cause: an error of that worker: worker_N.log of its rank has it
apart: grep -ln 'ERROR\|Traceback' worker_*.log scheduler.log: the earliest is the cause
fix: run `hccl-kit explain` on worker_N.log; msrun --log_dir names its folder (by default the current one)
"""),
    known(r"""symptom
the scheduler of msrun ended, usually because a worker stopped answering
line: \bScheduler process (?P<pid>[0-9]{1,9}) exit with exception
example: [ERROR] ME(7:8,Main): Scheduler process 4711 exit with exception.
says: it is process {pid}
cause: a worker ended or hangs: scheduler.log names the nodes that timed out
apart: grep -n 'timed out' scheduler.log; grep -ln 'ERROR\|Traceback' worker_*.log
fix: read scheduler.log, then worker_N.log of the node that it names
"""),
    known("""result
a rank ended with an error; this script then ended the others
example: error: rank 3 on device 3 of n1 failed with exit code 1
says: rank {rank} on {host}, exit code {code}: 128 and more is a signal, 137 is SIGKILL
cause: an error of that rank: its own log has it
cause: 137: the memory of the host was used up
""")._replace(
        patterns=(
            r"error: rank (?P<rank>[0-9]{1,8}) on device [0-9]{1,6} of (?P<host>[\w.:-]{1,255}) failed with exit code"
            r" (?P<code>[0-9]{1,3})(?: \(SIG[\w+-]{1,12}\))?$",
            r"error: rank (?P<rank>[0-9]{1,8}) on card [0-9]{1,6} failed with exit code (?P<code>[0-9]{1,3})\b",
            rf"{_IN_CHINESE}[0-9]{{1,6}} 号卡上的 rank (?P<rank>[0-9]{{1,8}}) 失败，退出码 (?P<code>[0-9]{{1,3}})",
        ),
        fact=_ended,
        tells_apart="the log of that rank; " + HOST_MEMORY,
        fix="correct what the log of that rank shows; if the kernel killed it, " + MORE_MEMORY,
    ),
    known("""symptom
ranks took no step for too long, so that the script ended the job
example: error: rank 3 on device 3 of n1 took no step for 60 s after step 5
says: rank {ranks} on {host}
cause: a rank hangs, or waits for data or for another rank
apart: py-spy dump --pid PID on each host; the logs of the ranks
fix: find the rank that waits for no other: hccl-kit diagnose LOGS
""")._replace(
        patterns=(
            r"error: rank (?P<ranks>[0-9]{1,8}) on device [0-9]{1,6} of (?P<host>[\w.:-]{1,255}) took no step for",
            r"error: ranks (?P<ranks>[0-9, ]{4,99}) of (?P<host>[\w.:-]{1,255}) took no step for",
            rf"{_IN_CHINESE}[0-9]{{1,6}} 号卡上的 rank (?P<ranks>[0-9]{{1,8}}) {_STILL}",
            rf"{_IN_CHINESE}rank (?P<ranks>[0-9、]{{3,99}}) {_STILL}",
        ),
        fact=_hang,
    ),
    known(r"""result vague
DeepSpeed's launcher saw a process of its host end; the output of that process, above, has the cause
line: '--local_rank=(?P<local>[0-9]{1,6})'[^\n]{0,2000}\] exits with return code = (?P<code>-?[0-9]{1,3})\b
mention: \bexits with return code = (?P<code>-?[0-9]{1,3})\b
example: [2025-11-03 10:11:46,347] [ERROR] [launch.py:322:sigkill_handler] ['./train', '--local_rank=3'] exits with
    return code = -11
says: its exit code is {code}: 1 is a Python error, a negative one a signal
says: local rank {local} of this host
cause: an error of that process
apart: the first traceback above it; `Killing subprocess` is what the launcher does to the others
fix: correct what the output of that process shows
""")._replace(fact=_killed),
    known(r"""symptom
the job was ended from outside: by a scheduler, a user or a terminal, not by an error of a rank
line: Received (?:Signals\.)?(?P<signal>[A-Z0-9]{1,8}) death signal, shutting down workers
line: SignalException: Process (?P<pid>[0-9]{1,10}) got signal: (?P<signal>[0-9]{1,2})\b
line: \*\*\* JOB \S{1,40} ON \S{1,255} CANCELLED AT \S{1,40} \*\*\*
example: W1103 10:11:45.1 7 torch/distributed/elastic/agent/server/api.py:719] Received 15 death signal, shutting down
    workers
says: it got signal {signal}: 1 is SIGHUP, 2 is Ctrl-C, 15 is SIGTERM
cause: SIGTERM: the time limit or a preemption of the scheduler, an eviction of the pod, scancel or kill
cause: CANCELLED: scancel, often because the job hung: then its last step is long before this line
cause: SIGHUP: the ssh session or the terminal was closed; nohup does not help, because torchrun takes the signal itself
apart: the last lines of the scheduler: sacct -j JOB, or kubectl describe pod POD
fix: SIGHUP: start it in tmux, or with setsid; SIGTERM: ask the scheduler for more time, and write checkpoints
"""),
    known(r"""cause
Slurm ended the job or a step of it; the reason is at the end of the line
line: \*\*\* (?:JOB|STEP) (?P<job>\S{1,40}) ON \S{1,255} CANCELLED AT \S{1,40} DUE TO (?P<why>TIME LIMIT|PREEMPTION
    |JOB REQUEUE|NODE FAILURE)
example: slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2025-11-03T10:11:46 DUE TO TIME LIMIT ***
says: job or step {job}: {why}
cause: TIME LIMIT: the job takes longer than its --time, or a rank hangs: then its last step is long before this line
cause: PREEMPTION, JOB REQUEUE: another job took its nodes
cause: NODE FAILURE: a node stopped answering Slurm; `srun: error: Node failure on` names it
apart: sacct -j JOB --format JobID,State,ExitCode,Start,End; the time of the last step of each rank
fix: TIME LIMIT: raise --time and go on from a checkpoint; NODE FAILURE: exclude that node (sbatch --exclude)
"""),
    known("""result
Slurm saw a task end
example: srun: error: n1: task 3: Exited with exit code 2
says: task {task} on {host} ended with code {code}
says: task {task} on {host}: {signal}
cause: an error of that task: its output has it
cause: Killed: the memory of the host or of the job was used up
apart: the output of that task; sacct -j JOB --format JobID,State,ExitCode,MaxRSS
""")._replace(
        patterns=(
            r"srun: error: (?P<host>[\w.-]{1,255}): task (?P<task>[0-9]{1,8}): "
            rf"(?:Exited with exit code (?P<code>[0-9]{{1,3}})|(?P<signal>{'|'.join(_SIGNALS)}))\b",
        ),
        fact=_slurm_task_ended,
        fix="correct what the output of that task shows; if it was killed for memory, " + MORE_MEMORY,
    ),
    known(r"""result
torchrun saw a process end
line: failed \(exitcode: (?P<code>-?[0-9]{1,3})\) local_rank: (?P<local>[0-9]{1,6}) \(pid: (?P<pid>
    [0-9]{1,10})\) of binary:
example: ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: -11) local_rank: 3 (pid: 78) of binary:
    /usr/bin/python3
says: local rank {local} of this host, process {pid}, exit code {code}: a negative one is a signal
cause: an error of that process: its output, above, has it
cause: -15: torchrun ended it because of another
apart: torchrun --log-dir LOGS --redirects 3 keeps the output of each rank
fix: correct what the output of that process shows
""")._replace(fact=_killed),
    known("""result
a rank ended the job with MPI_Abort; its own output, above, has the reason
line: MPI_ABORT was invoked on rank (?P<rank>[0-9]{1,8}) in communicator MPI_COMM_WORLD
example: MPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD
says: it is rank {rank}
cause: an error of that rank's program
apart: mpirun --output-filename LOGS keeps the output of each rank
fix: correct what the output of that rank shows
""")._replace(fact=_aborted),
    known(r"""cause
a process under Open MPI crashed
line: ^\[(?P<host>[\w.-]{1,255}):(?P<pid>[0-9]{1,10})\] Signal: (?P<signal>Segmentation fault|Bus error|Illegal instruct
    ion|Floating point exception) \([0-9]{1,2}\)
example: [n1:78] Signal: Segmentation fault (11)
says: it is process {pid} on {host}: {signal}
cause: an error before it: a program that ends on an exception may crash while HCCL is unloaded
cause: a bug in the library of the first frames, or two releases of it
cause: Bus error: the shared memory of the container (/dev/shm) is full
apart: an exception or an ERROR above it in the output of this process; the library of frames 0 to 3
fix: correct the error above it; without one, install the libraries of one release of CANN
""")._replace(fact=_crashed),
    known(r"""result needs_context
Open MPI saw a rank end by a signal
line: with PID [0-9]{1,10} on node (?P<host>\S{1,255}) exited on signal (?P<signal>[0-9]{1,2})\b
line: exited on signal (?P<signal>[0-9]{1,2})\b
example: mpirun noticed that process rank 3 with PID 78 on node n1 exited on signal 9 (Killed).
says: the host is {host}
says: the signal is {signal}: 9 is a kill, often for memory, 11 a crash
cause: 9: the memory of the host was used up, or somebody killed it
cause: 11 and 6: the program crashed
""")._replace(
        fact=_signalled,
        tells_apart=HOST_MEMORY,
        fix="correct what the output of that rank shows; if the kernel killed it, " + MORE_MEMORY,
    ),
)
