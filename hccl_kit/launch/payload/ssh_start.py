"""Start a launch script on all servers over ssh; the script of several servers carries this text for its --ssh.

    spread.py SCRIPT COUNT SERVER_0 SERVER_1 ... ADDRESS_0 ADDRESS_1 ... ARGUMENT ...

The script must lie at the same path on every server; it is started in the folder of the same name as here. What the
servers print comes out here, one line at a time, that of others than the first with their names in front. Every
server ends with this program, however it ends: over its standard input each one gets a sign of life every second.
The servers hear of each other by this program too (`relay`), so no port is open, and the job needs no secret.
At the end the logs that are not in this folder are fetched into it.

HCCL_KIT_SSH replaces `ssh`, such as "ssh -F FILE -p 2222". It needs nothing but Python 3.8 here.

Exit codes: that of the job, 2 where a server does not answer.
"""

from __future__ import annotations

import asyncio
import os
import re
import resource
import secrets
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Timer
from typing import IO, NamedTuple

from hccl_kit.launch.payload.messages import printable
from hccl_kit.launch.payload.relay import Relay, Sieve

OPTIONS = (
    *("-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10"),
    *("-o", "ServerAliveInterval=2", "-o", "ServerAliveCountMax=3"),
)
SSH = "HCCL_KIT_SSH"
BEAT = 1.0
"""Seconds between two signs of life."""
MAX_SHOWN = 1 << 20
"""Bytes of a line that is passed on whole."""
MAX_LOG = 2 << 30
"""Bytes of one log that is fetched."""
MAX_LOGS = 32 << 30
"""Bytes that are read from one server."""
MAX_ENTRIES = 10_000
"""Files and folders that one server may name."""
LOG = re.compile(
    rb"(?:\./)?(?:(restart_[0-9]{1,7})/)?"
    rb"(rank_[0-9]{1,7}\.log(?:\.1)?|error_[0-9]{1,7}\.json|step_[0-9]{1,7}|failed)"
)
"""The files of a run that are fetched, by their folder and name; all else stays where it is."""
ADDRESS = re.compile(r"[A-Za-z0-9:][A-Za-z0-9_.:%-]{0,254}")
"""What ssh is given: nothing that it takes for an option, a user or a command."""
BLOCK = 512
"""Bytes; archives consist of these."""
MARK = ".started-here"
GRACE = 12.0
"""Seconds that the servers have to end once one has failed."""
SSH_FAILED = 255
OWN_CODE = "hccl-kit: 255 is the code of the script itself"
"""A line that a server prints where its script ends with the code that ssh has for its own failures."""
AT_ONCE = 32
"""Servers whose logs are fetched at a time."""
FETCHING = 600
"""Seconds that the logs of a server may take."""
PASSED_ON = ("PATH", "LD_LIBRARY_PATH", "PYTHONPATH", "VIRTUAL_ENV", "CONDA_PREFIX", "LANG", "LC_ALL", "MASTER_PORT")
FAMILIES = ("ASCEND_", "HCCL_", "GLOG_", "MS_", "TOOLCHAIN_", "OMP_", "ONEDNN_", "NCCL_", "GLOO_", "TORCH_", "PYTHON")
LOCAL = ("HCCL_IF_IP", SSH, "HCCL_KIT_SERVER", "HCCL_KIT_RUN_ID", "HCCL_KIT_LOG_DIR", "HCCL_KIT_SECRET_FILE")
"""What would be wrong on another server."""


class Node(NamedTuple):
    """A server by the name of the rank table, and where ssh finds it."""

    name: str
    address: str


def remote_command(script: str, folder: str, node: Node, run: str, arguments: Sequence[str]) -> str:
    """What the shell on the other side is given: one line, every word quoted."""
    passed = {
        name: value
        for name, value in os.environ.items()
        if (name in PASSED_ON or name.startswith(FAMILIES))
        and name not in LOCAL
        and re.fullmatch(r"\w+", name, re.ASCII)
    }
    exports = [f"export {name}={shlex.quote(value)};" for name, value in passed.items()]
    start = shlex.join(["bash", script, "--lifeline", "--run", run, "--server", node.name, *arguments])
    if is_one_screen():
        start += " 2>&1"  # in order, and the script knows what is read already
    missing = shlex.quote(f"error: {node.name} has no {script} in {folder}; it must lie there as it does here")
    there = f"cd {shlex.quote(folder)} 2>/dev/null && test -f {shlex.quote(script)}"
    end = f"code=$?; [ $code != {SSH_FAILED} ] || echo {shlex.quote(OWN_CODE)} >&2; exit $code"
    return " ".join([*exports, there, "||", "{ echo", missing, ">&2; exit 2; };", f"{start}; {end}"])


def is_one_screen() -> bool:
    """Whether standard output and standard error of this program are read in one place."""
    with suppress(OSError):
        return os.path.sameopenfile(1, 2)
    return False


class Job:
    """All servers, and the exit code of the first that failed or of the signal that came first."""

    def __init__(self, nodes: Sequence[Node], *, has_names: bool) -> None:
        self.nodes, self.has_names = nodes, has_names
        self.relay = Relay([node.name for node in nodes], self.send, lambda text: write(2, f"{text}\n".encode()))
        self.processes: dict[Node, asyncio.subprocess.Process] = {}
        self.code = 0
        self.over = asyncio.Event()
        self.last_words: dict[Node, str] = {}
        self.lost: set[Node] = set()
        self.is_letting_go = False

    async def run(self, commands: Sequence[str]) -> int:
        """Start all and wait for all; where one fails, the others end by themselves or are let go."""
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, self.fail, 128 + number)
        watches = [asyncio.ensure_future(self.watch(*pair)) for pair in zip(self.nodes, commands)]  # noqa: B905 - 3.8
        over = asyncio.ensure_future(self.over.wait())
        everything = asyncio.ensure_future(asyncio.wait(watches))
        relaying = asyncio.ensure_future(self.relay.run())
        await asyncio.wait([over, everything], return_when=asyncio.FIRST_COMPLETED)
        if self.code <= 128:
            await asyncio.wait(watches, timeout=GRACE)
        await self.let_go(watches)
        over.cancel()
        relaying.cancel()
        # The others end with this code too where they miss a server, maybe before ssh does.
        return 2 if self.lost and self.code == SSH_FAILED else self.code

    def fail(self, code: int) -> None:
        """The job is over; the first code counts."""
        self.code = self.code or code
        self.over.set()

    def send(self, number: int, line: str) -> None:
        """A message to a server; whether it is gone is noticed by `watch`."""
        process = self.processes.get(self.nodes[number])
        if process and process.stdin:
            with suppress(OSError, RuntimeError):
                process.stdin.write(f"{line}\n".encode())

    async def watch(self, node: Node, command: str) -> None:
        """One server from its start to its end."""
        try:
            await self.attend(node, command)
        finally:
            self.relay.leave(self.nodes.index(node))

    async def attend(self, node: Node, command: str) -> None:
        """Start a server, pass on what it prints, and notice how it ends."""
        try:
            process = await asyncio.create_subprocess_exec(
                *ssh(node),
                command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            if not self.code:
                write(2, f"error: {error.filename}: {error.strerror}\n".encode())
            self.fail(2)
            return
        self.processes[node] = process
        assert process.stdin and process.stdout and process.stderr
        token = secrets.token_hex(16)
        self.send(self.nodes.index(node), token)
        beat = asyncio.ensure_future(self.beat(process.stdin))
        await asyncio.gather(self.hear(node, process.stdout, 1, token), self.hear(node, process.stderr, 2, token))
        code = await process.wait()
        beat.cancel()
        why = self.last_words.get(node, "no reason given")
        if code == SSH_FAILED and why != OWN_CODE:
            code = 2
            if not self.is_letting_go:
                self.lost.add(node)
                write(2, f"error: server {node.name} does not answer or was lost: {printable(why, 300)}\n".encode())
        if code:
            self.fail(code)

    async def hear(self, node: Node, stream: asyncio.StreamReader, target: int, token: str) -> None:
        """Pass on what a server prints; the messages in it go to the relay."""
        sieve, line = Sieve(token), b""
        while data := await stream.read(1 << 16):
            shown, messages = sieve.feed(data)
            *lines, line = (line + shown).split(b"\n")
            for whole in lines:
                self.show(node, whole + b"\n", target)
            if len(line) > MAX_SHOWN:
                self.show(node, line, target)
                line = b""
            for message in messages:
                self.relay.hear(self.nodes.index(node), message)
        if line + sieve.rest:
            self.show(node, line + sieve.rest, target)

    def show(self, node: Node, line: bytes, target: int) -> None:
        """Print a line of a server, with its name in front unless that is superfluous."""
        if target == 2:
            self.last_words[node] = line.decode("utf-8", "replace").strip()
            if self.last_words[node] == OWN_CODE:
                return
        front = b"" if node == self.nodes[0] or self.has_names else f"[{node.name}] ".encode()
        write(target, front + line)

    async def beat(self, stdin: asyncio.StreamWriter) -> None:
        """Signs of life; a server that hears none for some seconds ends its ranks."""
        with suppress(OSError):
            while True:
                stdin.write(b"\n")
                await stdin.drain()
                await asyncio.sleep(BEAT)

    async def let_go(self, watches: Sequence[asyncio.Future[None]]) -> None:
        """A server ends its ranks when its standard input ends."""
        self.is_letting_go = True
        for process in self.processes.values():
            if process.returncode is None and process.stdin:
                process.stdin.close()
        _, left = await asyncio.wait(watches, timeout=GRACE)
        for process in self.processes.values():
            if process.returncode is None:
                process.kill()
        if left:
            await asyncio.wait(left, timeout=1)


def ssh(node: Node) -> tuple[str, ...]:
    """The command up to what the other side is given."""
    return (*shlex.split(os.environ.get(SSH) or "ssh"), *OPTIONS, "--", node.address)


def write(target: int, data: bytes) -> None:
    """To the screen; that nobody looks does not end a training."""
    with suppress(OSError):
        os.write(target, data)


def fetch_all(nodes: Sequence[Node], folder: Path) -> None:
    """The logs of all servers into `folder`, many servers at a time; those that cannot be had are left there."""
    if len(nodes) > AT_ONCE:
        write(2, f"fetching the logs of {len(nodes)} servers into {folder}\n".encode())
    pool = ThreadPoolExecutor(AT_ONCE)
    for node, fetched in zip(nodes, [pool.submit(fetch, node, folder) for node in nodes]):  # noqa: B905 - 3.8
        try:
            fetched.result()
        except FileNotFoundError:
            pass  # ssh or this folder is gone, which was said or is meant
        except (OSError, ValueError) as why:
            write(2, f"note: logs of server {node.name!r} were not all fetched: {why}\n".encode())


def fetch(node: Node, folder: Path) -> None:
    """The logs of a server into `folder`, which has a file MARK: where the server sees it, it has the same disk.

    ValueError where the server sends something else than it should.
    """
    command = f"cd {shlex.quote(str(folder))} 2>/dev/null && ! test -e {MARK} && exec tar -cf - ."
    target = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        with subprocess.Popen(
            [*ssh(node), command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as process:
            assert process.stdout
            too_long = Timer(FETCHING, process.kill)
            too_long.start()
            try:
                unpack(process.stdout, target)
            finally:
                too_long.cancel()
                process.kill()
    finally:
        os.close(target)


def unpack(archive: IO[bytes], target: int) -> None:
    """Write the logs in a tar archive into the folder that the descriptor `target` is open on.

    The standard library would take links, devices and any name, and memory as a header says. Nothing that is here
    is overwritten, and no link is followed. ValueError at the first thing that cannot be.
    """
    left = MAX_LOGS
    for number in range(MAX_ENTRIES + 1):
        header = archive.read(BLOCK)
        if header == bytes(BLOCK) or not (header or number):
            return
        if number == MAX_ENTRIES:
            raise ValueError(f"it has more than {MAX_ENTRIES} files")
        size, found = size_of(header), LOG.fullmatch(name_of(header))
        left -= size
        if size > MAX_LOG or left < 0:
            raise ValueError(f"a log is longer than {MAX_LOG} bytes, or all are longer than {MAX_LOGS}")
        if found and header[156:157] in (b"0", b"\0"):
            place = folder_in(target, found[1])
            try:
                save(archive, size, place, found[2])
            finally:
                os.close(place)
        else:
            copy(archive, size, None)
        copy(archive, -size % BLOCK, None)


def size_of(header: bytes) -> int:
    """The bytes that follow a header."""
    plain = header[:148] + b" " * 8 + header[156:]
    checksum, size = (re.fullmatch(rb" *([0-7]{1,12})[ \0]*", header[at]) for at in (slice(148, 156), slice(124, 136)))
    if len(header) < BLOCK or not checksum or int(checksum[1], 8) != sum(plain) or not size:
        raise ValueError("the archive is damaged")
    return int(size[1], 8)


def name_of(header: bytes) -> bytes:
    """Without the part for long names, which a log does not have."""
    name, prefix = header[:100].split(b"\0")[0], header[345:500] if header[257:263] == b"ustar\0" else b""
    return b"" if prefix.strip(b"\0") else name


def folder_in(target: int, name: bytes | None) -> int:
    """A descriptor of the folder `name` in `target`, or of `target`."""
    if name is None:
        return os.dup(target)
    with suppress(FileExistsError):
        os.mkdir(name, dir_fd=target)
    return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=target)


def save(archive: IO[bytes], size: int, place: int, name: bytes) -> None:
    """Write a file into the folder `place`, if it is not there already."""
    try:
        file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644, dir_fd=place)
    except FileExistsError:
        copy(archive, size, None)
        return
    try:
        copy(archive, size, file)
    except (OSError, ValueError):
        os.unlink(name, dir_fd=place)
        raise
    finally:
        os.close(file)


def copy(archive: IO[bytes], size: int, file: int | None) -> None:
    """Bytes of an archive into a file, or to nowhere."""
    while size > 0:
        piece = archive.read(min(size, 1 << 20))
        if not piece:
            raise ValueError("the archive ends too early")
        size -= len(piece)
        while file is not None and piece:
            piece = piece[os.write(file, piece) :]


def main(argv: Sequence[str]) -> int:
    """The program; returns its exit code."""
    script, end = argv[0], 2 + int(argv[1])
    servers = [Node(*pair) for pair in zip(argv[2:end], argv[end:])]  # noqa: B905 - 3.8
    arguments = argv[end + len(servers) :]
    for node in servers:
        if not ADDRESS.fullmatch(node.address):
            write(2, f"error: server {node.name!r} has no address that ssh can be given: {node.address!r}\n".encode())
            write(2, b'  fix: add "host_ip", an address of that host, to it in the table\n')
            return 2
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # three pipes to every server
    run = time.strftime("%Y%m%d-%H%M%S-") + str(os.getpid())
    folder = Path(os.environ.get("PWD") or Path.cwd())  # as the user went there: a link is kept
    logs = folder / "hccl_logs" / run
    try:
        shlex.split(os.environ.get(SSH, ""))
    except ValueError as error:
        write(2, f"error: {SSH} is {os.environ[SSH]!r}: {error}\n".encode())
        return 2
    sys.unraisablehook = lambda _: None  # an ssh that had to be killed leaves pipes, of which asyncio complains
    try:
        logs.mkdir(parents=True)
        (logs / MARK).touch()
        commands = [remote_command(script, str(folder), node, run, arguments) for node in servers]
        code = asyncio.run(start(servers, commands, has_names="--prefix" in arguments))
        try:
            fetch_all(servers, logs)
            unmark(logs)
        except KeyboardInterrupt:
            unmark(logs)
            write(2, b"logs that are not here stay on their servers\n")
            os._exit(code)  # without waiting for those that are on their way
    except OSError as error:
        write(2, f"error: {error.filename or 'ssh'}: {error.strerror}\n".encode())
        return 2
    return code


def unmark(logs: Path) -> None:
    """Remove MARK; somebody may have removed the folder meanwhile."""
    with suppress(OSError):
        (logs / MARK).unlink()


async def start(nodes: Sequence[Node], commands: Sequence[str], *, has_names: bool) -> int:
    """All servers, in a loop of their own; `has_names`: every line of theirs says whose it is."""
    return await Job(nodes, has_names=has_names).run(commands)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
