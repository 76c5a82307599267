"""What ends a process around HCCL: the memory of the host, a disk that is full, files that are gone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hccl_kit.base.message import Message
from hccl_kit.base.process_end import killed_by
from hccl_kit.diagnosis.errors.message import LogMessage
from hccl_kit.diagnosis.errors.row import KnownError, known
from hccl_kit.diagnosis.facts import Fact, Fault

HOST_MEMORY = "free -h; dmesg -T | grep -i 'killed process\\|oom'; docker inspect CONTAINER | grep -i memory"
MORE_MEMORY = (
    "use fewer processes or data workers, load weights rank by rank, or raise the memory limit of the container"
)
_CRASHES: Mapping[str, int] = {
    **{"Segmentation fault": 11, "Bus error": 7, "Illegal instruction": 4, "Floating point exception": 8},
    **{"段错误": 11, "总线错误": 7, "非法指令": 4},
}
"""How bash 5 calls the signals of a crash, in English and Chinese."""
_OF_SHELL = r"(?:\bline [0-9]{1,6}:|第 [0-9]{1,6} 行：) *(?P<pid>[0-9]{1,10}) "


def _crashed(message: LogMessage) -> Iterator[Fact]:
    number = next(number for name, number in _CRASHES.items() if name in message.match[0])
    pid = message.value("pid")
    what = Message("diagnosis.process-ended", "process {pid} was {killed}", pid=pid, killed=killed_by(number))
    yield Fault(None, "LAUNCHER", what, message.shown)


ROWS: tuple[KnownError, ...] = (
    known(r"""cause
the network port of a card has no link
line: ^[^\w\n]{0,8}(?:\[devid [0-9]{1,4}\] ?)?link status ?: ?DOWN *$
example: link status: DOWN
says: jobs on several servers, and prefill and decode in two pods, need the port: they use RoCE
cause: no optical module or cable, or one that is faulty
cause: the port of the switch is off, or has another speed
apart: hccn_tool -i N -optical -g: `not present` means that there is no module; hccn_tool -i N -lldp -g
fix: connect the port; a job on one server can do without it (HCCS) if all its ranks have one server id
"""),
    known("""cause
the network port of a card has no optical module
line: ^ *present *: *not present *$
example: present : not present
cause: the port is not cabled on this server
cause: the module is not seated well, or faulty
apart: hccn_tool -i N -link -g
fix: plug in module and cable; a job on one server can do without them (HCCS)
"""),
    known(r"""cause
Ray ended a process, because the memory of the host was nearly full
line: Task was killed due to the node running low on memory
line: memory used=(?P<own>[0-9.]{1,12}[KMGT]?B)\) was running was (?P<used>[0-9.]{1,12}[KMGT]?B) / (?P<total>
    [0-9.]{1,12}[KMGT]?B)
line: (?P<count>[0-9]{1,6}) Workers \(tasks / actors\) killed due to memory pressure \(OOM\)
example: The task (name=W, pid=7, memory used=9.50GB) was running was 95.00GB / 99.00GB (0.96), which exceeds
says: the host uses {used} of {total}, this process {own}
says: {count} processes were ended
cause: all ranks of the host load weights, or offload the optimizer, into its memory
cause: the container's limit is below the host's memory: Ray counts against the limit
apart: free -h; ray memory; the list of processes below the message
""")._replace(fix=MORE_MEMORY + "; RAY_memory_usage_threshold only moves the limit"),
    known(r"""cause in_output
the shared memory of the container (/dev/shm) is full
line: No space left on device[^\n]{0,80}/dev/shm
line: \bdev/shm[^\n]{0,120}No space left on device
line: unable to (?:open|resize|allocate|mmap)[^\n]{0,60}shared memory[^\n]{0,120}No space left
example: RuntimeError: unable to write to file: No space left on device (28) /dev/shm/torch_77
cause: the shared memory of the container is too small: the default is 64 MB
apart: df -h /dev/shm in the container, while the job starts
fix: start the container with --shm-size=16g or more, or with --ipc=host; in Kubernetes mount an emptyDir with medium
    Memory at /dev/shm
"""),
    known(r"""cause in_output
a disk is full
line: No space left on device(?:[^\n]{0,20}?'(?P<path>/[^'\n]{1,200})')?
example: OSError: [Errno 28] No space left on device: '/ckpt/step_4.ckpt'
says: it is the disk of {path}
cause: checkpoints, logs, dumps (core, TRACE, kernel_meta) or the compile cache filled it
apart: df -h; du -sh ~/ascend/log kernel_meta /tmp
fix: free space, or write checkpoints and logs to another disk
"""),
    known(r"""cause in_output
the kernel killed a process, because the memory of the host or of its container was used up
line: (?:Memory cgroup o|O)ut of memory: Kill(?:ed)? process (?P<pid>[0-9]{1,9})(?: \((?P<name>[^()\n]{1,40})\))?(?:
    [^\n]{0,80}?anon-rss:(?P<rss>[0-9]{1,12})kB)?
line: oom-kill(?::| event)
line: oom_kill event
line: \bOOMKilled\b
says: it is process {pid} ({name})
says: it had {rss} kB
cause: all ranks of the host load weights, or keep data and optimizer, in its memory
cause: the limit of the container or pod is below what the job needs
""")._replace(
        example="slurmstepd: error: Detected 1 oom_kill event in StepId=1.0. ", tells_apart=HOST_MEMORY, fix=MORE_MEMORY
    ),
    known(r"""cause in_output
a worker of the DataLoader was killed
line: DataLoader worker \(pid\(?s?\)? ?(?P<pid>[0-9]{1,9})[^\n]{0,40}?(?:is killed by signal: (?P<signal>
    (?!Terminated|Interrupt)[\w ]{1,30})|exited unexpectedly)
example: RuntimeError: DataLoader worker (pid 4711) is killed by signal: Bus error. It is possible
says: it is process {pid}, by {signal}
says: it is process {pid}
cause: Bus error: the shared memory of the container (/dev/shm) is full
cause: Killed: the memory of the host, or the limit of the container, is used up
cause: Segmentation fault: a library of the dataset crashed
fix: Bus error: --shm-size=16g or --ipc=host; Killed: fewer workers or more memory
""")._replace(tells_apart="df -h /dev/shm in the container; " + HOST_MEMORY),
    known(r"""symptom in_output
a worker of the DataLoader was ended with its process, from outside
line: DataLoader worker \(pid\(?s?\)? ?(?P<pid>[0-9]{1,9})[^\n]{0,40}?is killed by signal: (?P<signal>
    Terminated|Interrupt)
example: RuntimeError: DataLoader worker (pid 4711) is killed by signal: Terminated.
says: it is process {pid}, by {signal}
cause: the launcher ended this rank, since another one had failed before
cause: a scheduler or a user ended the job
apart: the rank that the launcher names as the first
fix: read the output of that rank
"""),
    known(r"""cause in_output
a file on a network file system (NFS) is gone or does not answer
line: Stale file handle
line: nfs: server (?P<host>\S{1,100}) not responding
example: OSError: [Errno 116] Stale file handle: '/nfs/data'
says: the server is {host}
cause: the NFS server, or the network to it, does not answer
cause: the file was replaced on the server
apart: dmesg | grep nfs; timeout 5 ls MOUNT on each host
fix: repair or remount it; keep data that every step reads on a local disk
"""),
    known(r"""fact
a helper process whose parent has ended, after an error or at the end of the job: harmless by itself
line: TBE Subprocess ?\[\w{1,40}\] ?raise error\[[^\]\n]{0,80}\], main process disappeared
line: resource_tracker: There appear to be (?P<count>[0-9]{1,9}) leaked \w{1,40} objects to clean up
example: [ERROR] TBE Subprocess[task_distribute] raise error[], main process disappeared!
says: {count} objects were left over
cause: the process that started it ended
apart: the errors above the first of these lines; the exit code of the job
fix: read the errors above it; without any, and with exit code 0, nothing is wrong
"""),
    known(r"""cause
a process got a bus error: usually the shared memory of the container (/dev/shm) is full
line: \*\*\* SIGBUS received at time
line: Fatal Python error: Bus error
line: exitcode *: -7 \(pid: (?P<pid>[0-9]{1,9})\)
line: This might be caused by insufficient shared memory \(shm\)
example: (W pid=7) Fatal Python error: Bus error
says: it is process {pid}
cause: the shared memory of the container is too small: the default is 64 MB
cause: a file that is mapped into memory was shortened, or its disk is full
apart: df -h /dev/shm in the container, while the job starts
fix: start the container with --shm-size=16g or more, or with --ipc=host; in Kubernetes mount an emptyDir with medium
    Memory at /dev/shm
"""),
    known(r"""cause in_output
a process crashed; the frames below that line show where
line: Fatal Python error: (?P<signal>Segmentation fault|Illegal instruction|Floating point exception)
example: Fatal Python error: Segmentation fault
says: {signal}
cause: a bug in the library of the first frames, or two releases of it
apart: the first frames below `most recent call first`; an exception or an ERROR above it
fix: install the libraries of one release of CANN and torch_npu, or MindSpore
"""),
    known("""result
a shell saw a process of its script end by a signal
example: run.sh: line 7: 4711 Segmentation fault      python train.py
says: it is process {pid}
cause: Killed: the script ended it because of another; or the memory of the host, or of its container, was used up
cause: a crash: the output of that process, above, has more
""")._replace(
        patterns=tuple(rf"{_OF_SHELL}{name} " for name in _CRASHES),
        mentions=tuple(rf"{_OF_SHELL}{name} " for name in ("Killed", "已杀死")),  # a script itself ends others so
        fact=_crashed,
        tells_apart=HOST_MEMORY,
        fix="correct what the output of that process shows; if the kernel killed it, " + MORE_MEMORY,
    ),
)
