#!/usr/bin/env bash
# Starts ranks 0 to 3 on 2 hosts by msrun of MindSpore. Written by hccl_kit.
#
#   bash msrun4p.sh [ARGUMENT ...]      the arguments are added to the command below
#
# Run it on every host, within 600 s. --server ID in front of the arguments, or
# HCCL_KIT_SERVER=ID, says which server of the rank table this one is, where its addresses do not tell.
# The secret of the job lies beside it on every server, msrun4p.sh.secret of mode 600;
# HCCL_KIT_SECRET_FILE=FILE names another.
#
# Made from the rank table with sha256 cf869eb2dc6d71707f3957e6d363be2c3981f653c86b596fe41abe89437328f7;
# the job does not read it: under msrun a rank table must not be set.
# Logs go to hccl_logs/RUN/worker_N.log in the current folder, those of msrun beside them. The first rank of
# this host is shown. MASTER_PORT is kept where rank 0 runs and it is set, else a free port is taken.
# The first rank that fails ends the job, on all hosts: its traceback comes last on its own, its exit code
# (128 + signal) is the script's everywhere. Otherwise 0 is success, 2 could not start, 130 Ctrl-C,
# 143 SIGTERM, 129 SIGHUP, 137 the guard of the ranks was killed.
# Needs bash 4.3, coreutils, grep, iproute2, python 3.8 and util-linux.

case ${BASH_VERSION:-} in
    '' | [1-3].* | 4.[0-2].*) echo "error: this needs bash 4.3 or newer; start it with: bash $0" >&2; exit 2 ;;
esac
set +o posix # where sh is bash
set -euo pipefail

command=(python train.py --lr 0.1)
size=4
port_name=MASTER_PORT
server=${HCCL_KIT_SERVER:-}
# shellcheck disable=SC2016  # a program in Python
worker='"""msrun starts this as every worker, and as its scheduler. It notes who fails, in the order of failing, with the exit
code: msrun itself tells neither. So any command can be started, not only a script in Python.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys


def end_with_parent() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG of linux/prctl.h


end_with_parent()
logs, *command = sys.argv[1:]
try:
    code = subprocess.call(command, preexec_fn=end_with_parent)
except OSError as error:
    print(f"{command[0]}: {error.strerror}", flush=True)
    code = 127
code = code if code >= 0 else 128 - code
if code:
    name = "scheduler" if os.environ["MS_ROLE"] == "MS_SCHED" else "worker_" + os.environ["RANK_ID"]
    try:
        with open(f"{logs}/failed", "a") as failed:
            failed.write(f"{name} {code}\n")
    except OSError:  # the log folder is gone, or the disk is full: msrun ends all the same
        pass
sys.exit(code)
'

one_screen=''
[[ ! /dev/fd/1 -ef /dev/fd/2 ]] || one_screen=1 # what goes to stdout and to stderr is read in one place

die() { # LINE ...
    printf '%s\n' "$@" >&2
    exit 2
}

for tool in grep hostname ip mkdir python setsid sleep tail; do
    command -v "$tool" >/dev/null || die "error: $tool is not on PATH" \
        '  fix: install coreutils, grep, iproute2, python 3 and util-linux'
done
command -v msrun >/dev/null || die 'error: msrun is not on PATH' \
    '  fix: put the bin folder of the python that has MindSpore first on PATH'

if [[ ${1:-} == --server ]]; then
    (($# > 1)) || die 'error: --server needs the server_id that the rank table gives this host'
    server=$2
    shift 2
fi
[[ ${1:-} != -- ]] || shift

find_python() { # MINOR: the one of the command, else of PATH, from 3.MINOR on; sets python, empty where none is
    local is_new="import sys; sys.exit(sys.version_info < (3, $1))"
    for python in "${command[0]}" python3 python ''; do # python_train.sh is no python, and is not to start here
        if [[ ${python##*/} =~ ^python[0-9.]*$ ]] && "$python" -I -c "$is_new" 2>/dev/null; then break; fi
    done
}

bind='import socket, sys
for port in sys.argv[1:]:
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try: s.bind(("", int(port)))
        except OSError: continue
    print(port)
    break'

first_free() { # PORT ...: print the first that can be bound, if one can
    local port
    [[ -z $python ]] || { "$python" -I -c "$bind" "$@" && return; }
    echo 'note: no python is here to bind the port; all that is known of it is that nobody answers there now' >&2
    for port; do
        if ! (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then echo "$port" && return; fi
    done
}

given_port=${!port_name:-} # by the user; the ranks are told another under this name

choose_port() { # the one that is given, else a random one
    local candidates=() unset_it="  fix: unset $port_name, and a free port is taken"
    if [[ -n $given_port ]]; then
        [[ $given_port =~ ^[1-9][0-9]{0,4}$ && $given_port -le 65535 ]] ||
            die "error: $port_name=$given_port is no port, 1 to 65535" "$unset_it"
        candidates=("$given_port")
    else # below 32768, from where on the system hands ports out by itself
        for _ in {1..20}; do candidates+=($((20000 + RANDOM % 12000))); done
    fi
    port=$(first_free "${candidates[@]}")
    [[ -n $port ]] ||
        die "error: $port_name=${candidates[0]} cannot be bound on this host (taken, or below 1024 without the right)" \
            "$unset_it"
}

table_sha256=cf869eb2dc6d71707f3957e6d363be2c3981f653c86b596fe41abe89437328f7 attempt=0 last_code='' given_up='' lifeline='' # it is not started again
servers=(
    192.0.2.1
    node2
)
names=(
    192.0.2.1
    node2
)
all_ranks=(
    '0 1'
    '2 3'
)
all_devices=(
    '4 5'
    '0 1'
)
all_visible=(
    "4,5"
    ""
)
master=192.0.2.1
link_port_name=HCCL_KIT_LINK_PORT
link_port=${HCCL_KIT_LINK_PORT:-22162}
link='' token=''
# Both sides of a connection prove that they know this secret, without saying it.
secret_file=${HCCL_KIT_SECRET_FILE:-$(readlink -f -- "${BASH_SOURCE[0]}").secret}
unset -v HCCL_KIT_SECRET_FILE

# shellcheck disable=SC2016  # a program in Python
rendezvous_program='from __future__ import annotations


"""The messages that the nodes of a job exchange: one line each, every field parsed to its type and range.

Carried by the launch scripts, so it needs nothing but Python 3.8. A node is its index in the list of servers, which all
nodes have; no name crosses the network.
"""


import re
from typing import NamedTuple, Union

LONGEST = 1024
"""Bytes of a line."""
MAX_RANK = 9999999
LOST, ENDED, RANK_LOST = -1, -2, -3
"""In the place of a rank: the node is gone, its script was ended, one of its ranks ended unseen."""
LOST_CODE = 255
"""The exit code of a node that is gone."""
TWICE, OTHER_TABLE = "twice", "table"
"""Why node 0 refuses a node: it has joined already, or it has another rank table."""


class Malformed(Exception):  # noqa: N818 - the line is what is wrong
    """A line that is not one of the messages accepted here; `str()` is the line, made printable."""


class Here(NamedTuple):
    """A node is ready. `run` and `port` count where the node is the first; the others send port 0."""

    run: str
    port: int

    def line(self) -> str:
        return f"here {self.run} {self.port}"


class Start(NamedTuple):
    """All nodes are there: the name of the run and the port of rank 0; port 0 ends the restarts."""

    run: str
    port: int

    def line(self) -> str:
        return f"start {self.run} {self.port}"


class Failed(NamedTuple):
    """A rank of the sender failed `ago` seconds before the line was sent."""

    rank: int
    code: int
    ago: float = 0.0

    def line(self) -> str:
        return f"failed {self.rank} {self.code} {self.ago:.3f}"


class Over(NamedTuple):
    """The failure that ended the job: what failed on the server with the index `node`."""

    rank: int
    code: int
    node: int

    def line(self) -> str:
        return f"over {self.rank} {self.code} {self.node}"


class Done(NamedTuple):
    """From a node: its ranks have succeeded. From node 0: those of all nodes have."""

    def line(self) -> str:
        return "done"


class Refused(NamedTuple):
    """Node 0 does not accept this node; `sha256` is that of the table of node 0."""

    reason: str
    sha256: str

    def line(self) -> str:
        return f"refused {self.reason} {self.sha256}"


FromNode = Union[Here, Failed, Done]  # noqa: UP007 - Python 3.8
FromNode0 = Union[Start, Over, Done, Refused]  # noqa: UP007 - Python 3.8


def parse_from_node(line: bytes) -> FromNode:
    """A message of a node about its ranks. Raises Malformed."""
    kind, fields = _split(line)
    if kind == "here" and len(fields) == 2:
        return Here(_run(fields[0], line), _number(fields[1], 0, 65535, line))
    if kind == "failed" and len(fields) == 3:
        rank, code, ago = fields
        if not re.fullmatch(r"(0|[1-9][0-9]{0,8})(\.[0-9]{1,6})?", ago):
            raise Malformed(printable(line))
        return Failed(_number(rank, RANK_LOST, MAX_RANK, line), _number(code, 0, 255, line), float(ago))
    if (kind, fields) == ("done", []):
        return Done()
    raise Malformed(printable(line))


def parse_from_node_0(line: bytes, servers: int) -> FromNode0:
    """A message of node 0 to a node of a job with that number of servers. Raises Malformed."""
    kind, fields = _split(line)
    if kind == "start" and len(fields) == 2:
        return Start(_run(fields[0], line), _number(fields[1], 0, 65535, line))
    if kind == "over" and len(fields) == 3:
        rank, code, node = fields
        return Over(
            _number(rank, RANK_LOST, MAX_RANK, line),
            _number(code, 0, 255, line),
            _number(node, 0, servers - 1, line),
        )
    if (kind, fields) == ("done", []):
        return Done()
    if kind == "refused" and len(fields) == 2 and fields[0] in (TWICE, OTHER_TABLE) and is_sha256(fields[1]):
        return Refused(fields[0], fields[1])
    raise Malformed(printable(line))


def number(text: str, low: int, high: int) -> int | None:
    """`text` as a decimal number in this range without leading zeros, else None."""
    if not re.fullmatch(r"0|-?[1-9][0-9]{0,8}", text):
        return None
    return int(text) if low <= int(text) <= high else None


def is_sha256(text: str) -> bool:
    """Whether the text is a SHA-256 in lower-case hexadecimal digits."""
    return re.fullmatch(r"[0-9a-f]{64}", text) is not None


def printable(data: bytes | str, longest: int = 80) -> str:
    """Text of others for the screen: control characters and bytes beyond ASCII are escaped, a long one is cut."""
    text = data.decode("ascii", "backslashreplace") if isinstance(data, bytes) else data
    shown = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text[: longest + 1])
    return shown if len(shown) <= longest else shown[:longest] + "..."


def _split(line: bytes) -> tuple[str, list[str]]:
    try:
        kind, *fields = line.rstrip(b"\r\n").decode("ascii").split(" ")
    except UnicodeDecodeError:
        raise Malformed(printable(line)) from None
    return kind, fields


def _number(text: str, low: int, high: int, line: bytes) -> int:
    value = number(text, low, high)
    if value is None:
        raise Malformed(printable(line))
    return value


def _run(text: str, line: bytes) -> str:
    if not re.fullmatch(r"[0-9]{1,20}(-[0-9]{1,20}){1,3}", text):
        raise Malformed(printable(line))
    return text


"""The lock of the link: both sides prove that they know the secret of the job, then every line is authenticated.

    node     hello NODE TABLE_SHA256 NONCE
    node 0   answer TABLE_SHA256 NONCE PROOF      HMAC-SHA256 by the secret over all of the above, as "node 0"
    node     proof PROOF                          the same as "node"
    both     MAC LINE                             HMAC-SHA256 by a session key over direction, count of lines and LINE

The secret itself never crosses the network, and node 0 proves itself first, so an impostor learns nothing. Nonces are
fresh on both sides, so a recorded proof is worthless later, as is a recorded line. All nodes share the secret, so they
trust each other: one of them can join in the place of another that has not come. Carried by the launch scripts.
"""


import asyncio
import hashlib
import hmac
import os
import re
import secrets
import shlex
import stat
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import NamedTuple


PROTOCOL = "hccl-kit link 1"
MAX_SECRET = 4096
"""Bytes of a file that is read for a secret."""


class SecretError(Exception):
    """The secret of the job cannot be used; the text says why and what to do."""


class Hello(NamedTuple):
    """What a node says first; `nonce` has the form of a SHA-256."""

    node: int
    sha256: str
    nonce: str


class Answer(NamedTuple):
    """What node 0 says first."""

    sha256: str
    nonce: str
    proof: str


def read_secret(path: str) -> bytes:
    """The secret in a file that only its owner can read. Raises SecretError."""
    make = f"(umask 077; openssl rand -hex 32 >{shlex.quote(path)}), then copy it to every server, mode 600"
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise SecretError(
            f"error: the servers of this job need a secret, but {path} cannot be read: {error.strerror}\n  fix: {make}"
        ) from error
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
            raise SecretError(
                f"error: the secret {path} is not a file that you own and that only you can read\n"
                f"  fix: chmod 600 {shlex.quote(path)}, as its owner"
            )
        text = os.read(descriptor, MAX_SECRET)
    finally:
        os.close(descriptor)
    if not re.fullmatch(rb"\s*(?:[0-9a-fA-F]{2}){16,512}\s*", text) or len(set(text.strip().lower())) < 6:
        raise SecretError(
            f"error: the secret {path} is not of at least 128 bits, 32 to 1024 random hexadecimal digits\n  fix: {make}"
        )
    return bytes.fromhex(text.decode())


def fresh() -> str:
    """A nonce."""
    return secrets.token_hex(32)


def parse_hello(line: bytes, servers: int) -> Hello:
    """The first line of a node. Raises Malformed."""
    words = _words(line, "hello", 3)
    node = number(words[0], 1, servers - 1)
    if node is None or not is_sha256(words[1]) or not is_sha256(words[2]):
        raise Malformed(printable(line))
    return Hello(node, words[1], words[2])


def parse_answer(line: bytes) -> Answer:
    """The first line of node 0. Raises Malformed."""
    words = _words(line, "answer", 3)
    if not all(map(is_sha256, words)):
        raise Malformed(printable(line))
    return Answer(*words)


def parse_proof(line: bytes) -> str:
    """The second line of a node. Raises Malformed."""
    (proof,) = _words(line, "proof", 1)
    if not is_sha256(proof):
        raise Malformed(printable(line))
    return proof


def proof_of(secret: bytes, role: str, hello: Hello, sha256: str, nonce: str) -> str:
    """What only somebody with the secret can say; `sha256` and `nonce` are those of node 0."""
    told = "\n".join((PROTOCOL, role, str(hello.node), hello.sha256, hello.nonce, sha256, nonce))
    return hmac.new(secret, told.encode(), hashlib.sha256).hexdigest()


def equal(text: str, other: str) -> bool:
    """Whether two proofs are equal, in a time that says nothing of where they differ."""
    return hmac.compare_digest(text.encode(), other.encode())


class Channel:
    """A connection whose both sides have proven themselves; its lines can be neither forged nor replayed."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, session: str, *, is_node_0: bool
    ) -> None:
        self.reader, self.writer = reader, writer
        own, other = ("node 0", "node") if is_node_0 else ("node", "node 0")
        self.seal, self.check = _Seal(session, own), _Seal(session, other)

    def send(self, line: str) -> None:
        """One line, empty for a sign of life; that the other side is gone is noticed by whoever reads."""
        with suppress(OSError, RuntimeError):
            self.writer.write(f"{self.seal.next(line.encode())} {line}\n".encode())

    async def lines(self, silence: float) -> AsyncIterator[bytes]:
        """Each line, signs of life left out, until the other side is gone or silent. Raises Malformed."""
        with suppress(OSError, asyncio.TimeoutError, ValueError):
            while (line := await asyncio.wait_for(self.reader.readline(), silence)).endswith(b"\n"):
                mac, _, text = line[:-1].partition(b" ")
                if not hmac.compare_digest(mac, self.check.next(text).encode()):
                    raise Malformed(printable(line[:-1]))
                if text:
                    yield text


class _Seal:
    """The authentication codes of the lines of one direction, which are counted."""

    def __init__(self, session: str, direction: str) -> None:
        self.key, self.count = f"{session} {direction}".encode(), 0

    def next(self, text: bytes) -> str:
        """The code of the next line."""
        self.count += 1
        return hmac.new(self.key, b"%d %s" % (self.count, text), hashlib.sha256).hexdigest()


def _words(line: bytes, kind: str, count: int) -> list[str]:
    words = line.decode("ascii", "replace").rstrip("\n").split(" ")
    if words[0] != kind or len(words) != count + 1:
        raise Malformed(printable(line.rstrip(b"\n")))
    return words[1:]


"""The door of node 0: who connects has a deadline and few lines to prove that he knows the secret of the job.

Carried by the launch scripts. Unknown connections are bounded, in all and from one address, and a new one takes the
place of the oldest: whoever floods the door drops his own connections, and a node comes through in between.
"""


import asyncio
import errno
import ipaddress
import socket
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress


DEADLINE = 5.0
"""Seconds from the connection to the proof."""
MAX_UNKNOWN, MAX_OF_ADDRESS = 256, 16
"""Connections that have not proven themselves yet."""
MAX_COMPLAINTS = 8
"""Lines about wrong proofs, so that nobody fills the screen."""
BACKLOG = 1024


class Door:
    """Lets those in who prove the secret; `serve` is given each of them."""

    def __init__(
        self,
        secret: bytes,
        sha256: str,
        servers: int,
        serve: Callable[[Channel, Hello], Awaitable[None]],
        tell: Callable[[str], None],
    ) -> None:
        self.secret, self.sha256, self.servers, self.serve, self.tell = secret, sha256, servers, serve, tell
        self.unknown: dict[asyncio.StreamWriter, str] = {}
        self.complaints = 0

    async def welcome(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, from its beginning to its end."""
        with suppress(OSError, ValueError, asyncio.TimeoutError, asyncio.CancelledError, Malformed):
            self.make_room(writer)
            try:
                channel, hello = await asyncio.wait_for(self.prove(reader, writer), DEADLINE)
            finally:
                self.unknown.pop(writer, None)
            await self.serve(channel, hello)
        writer.close()

    def make_room(self, writer: asyncio.StreamWriter) -> None:
        """Take a connection in; where there are too many, the oldest goes, of its address or of the busiest."""
        address = _network(str((writer.get_extra_info("peername") or ("?",))[0]))
        counted = Counter(self.unknown.values())
        crowd = address if counted[address] >= MAX_OF_ADDRESS else None
        if crowd is None and len(self.unknown) >= MAX_UNKNOWN:
            ((crowd, _),) = counted.most_common(1)
        if crowd is not None:
            oldest = next(other for other, place in self.unknown.items() if place == crowd)
            del self.unknown[oldest]
            oldest.transport.abort()
        self.unknown[writer] = address

    async def prove(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> tuple[Channel, Hello]:
        """Prove that this is node 0, and hear a proof. Raises Malformed where there is none."""
        hello = parse_hello(await reader.readline(), self.servers)
        heard = hello, self.sha256, fresh()
        answer = " ".join(("answer", *heard[1:], proof_of(self.secret, "node 0", *heard)))
        writer.write(f"{answer}\n".encode())
        line = await reader.readline()
        if not equal(parse_proof(line), proof_of(self.secret, "node", *heard)):
            if self.complaints < MAX_COMPLAINTS:
                self.complaints += 1
                address = printable(str((writer.get_extra_info("peername") or ("?",))[0]))
                self.tell(f"warning: {address} tried to join without the secret of this job")
            raise Malformed(printable(line))
        return Channel(reader, writer, proof_of(self.secret, "session", *heard), is_node_0=True), hello


def _network(address: str) -> str:
    """What counts as one address: of IPv6, the first half, of which anybody has all the others."""
    with suppress(ValueError):
        found = ipaddress.ip_address(address.partition("%")[0])
        if isinstance(found, ipaddress.IPv6Address):
            return str(found.ipv4_mapped or found.packed[:8].hex())
    return address


def listener(address: str, port: int, tell: Callable[[str], None]) -> socket.socket:
    """A socket at one address of this host; at all of them where others cannot reach this one. Raises OSError."""
    try:
        family, _, _, _, place = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)[0]
        if place[0] == address or not ipaddress.ip_address(str(place[0]).partition("%")[0]).is_loopback:
            return socket.create_server(place, family=family, backlog=BACKLOG)
        why = f"is {place[0]} here"
    except socket.gaierror:
        why = "is not known here"
    except OSError as error:
        if error.errno != errno.EADDRNOTAVAIL:
            raise
        why = "is not an address of this host"
    tell(f"note: {address} {why}, so this node listens at all of its addresses")
    if socket.has_dualstack_ipv6():
        return socket.create_server(("", port), family=socket.AF_INET6, backlog=BACKLOG, dualstack_ipv6=True)
    return socket.create_server(("", port), backlog=BACKLOG)


"""What becomes of one start of a job'"'"'s nodes: who is here, who is done, who failed first.

Carried by the launch scripts. It knows nothing of connections: node 0 has one of these in `link`, the starter of
--ssh in `relay`.
"""


import asyncio
import time
from contextlib import suppress


JUDGING = 0.3
"""Seconds after the first failure in which a node may report an earlier one."""


class Meeting:
    """The nodes 0 to `count` - 1; only a node that is here is heard."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.here: dict[int, Here] = {}
        self.done: set[int] = set()
        self.failures: list[tuple[float, Over]] = []
        self.changed = asyncio.Event()

    @property
    def missing(self) -> list[int]:
        """The nodes that have not come yet."""
        return [node for node in range(self.count) if node not in self.here]

    def hear(self, node: int, message: FromNode) -> None:
        """What a node says of itself and of its ranks."""
        if isinstance(message, Here):
            self.here[node] = message
        elif isinstance(message, Failed):
            self.fail(Over(message.rank, message.code, node), message.ago)
        else:
            self.done.add(node)
        self.changed.set()

    def leave(self, node: int) -> None:
        """A node is gone; it may go once its ranks have succeeded."""
        if node not in self.done:
            self.fail(Over(LOST, LOST_CODE, node))

    def fail(self, over: Over, ago: float = 0.0) -> None:
        """A node has failed `ago` seconds before now, by the clock of this host."""
        self.failures.append((time.monotonic() - ago, over))
        self.changed.set()

    async def change(self) -> None:
        """Wait until something happens, or for a second."""
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self.changed.wait(), 1.0)
        self.changed.clear()

    async def end(self) -> Over | Done:
        """Wait until all are done or one has failed; the earliest failure counts."""
        while len(self.done) < self.count and not self.failures:
            await self.change()
        if not self.failures:
            return Done()
        await asyncio.sleep(JUDGING)
        return min(self.failures)[1]


def named(servers: list[str]) -> str:
    """The first of many names."""
    return ", ".join(servers[:8]) + (f" and {len(servers) - 8} more" if len(servers) > 8 else "")


"""How the nodes of a job tell each other how it goes; the launch script of several servers carries this text.

    link.py NODE ADDRESS PORT PORT_NAME TABLE_SHA256 PATIENCE RUN MASTER_PORT SECRET_FILE SERVER ...

Node 0 listens on PORT of ADDRESS, the others come there. Both sides prove that they know the secret of the job, see
`lock`. When all are there, every node prints `start RUN MASTER_PORT`, as node 0 has them, and its script starts the
ranks. After that it hears from the script, on standard input, `done` or `failed RANK CODE SECONDS` with the seconds
that have passed since. Node 0 tells all who failed first: `over RANK CODE NODE`. A node that leaves without a word, or
is silent for SILENCE seconds, has failed with rank -1.

Exit codes: 0 all are done, 1 somebody failed, 2 the nodes did not come together. It needs nothing but Python 3.8, and
ends with the script that started it. `messages` parses every line, of the network and of the script, before it is used.
"""


import asyncio
import ctypes
import os
import resource
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple


BEAT, SILENCE = 1.0, 6.0
"""Seconds between two signs of life, and after which a node counts as lost."""
PR_SET_PDEATHSIG = 1
"""Of Linux: a signal to this process at the death of the one that started it."""
REMIND = 10.0
"""Seconds between two words about what is waited for."""


class Options(NamedTuple):
    """The command line. `patience`: seconds that the nodes wait for each other; `servers`: what messages call them;
    `port_name`: the variable that sets `port`. And the id of the `script`, with which this program ends.
    """

    node: int
    address: str
    port: int
    port_name: str
    sha256: str
    patience: float
    run: str
    master_port: int
    secret_file: str
    servers: tuple[str, ...]
    script: int

    @property
    def where(self) -> str:
        """Node 0 by its name and address."""
        return f"{self.servers[0]} ({self.address} port {self.port})"

    def assert_script_lives(self) -> None:
        """A link without its script would speak for a node that is not there. The connections close, and all know."""
        if os.getppid() != self.script:
            os._exit(1)


class Stop(Exception):  # noqa: N818 - it is no error where all went well
    """Ends this program with an exit code, after a text for the user where there is one."""

    def __init__(self, code: int, text: str = "") -> None:
        super().__init__(text)
        self.code, self.text = code, text


def say(line: str) -> None:
    """One line to the script."""
    os.write(1, f"{line}\n".encode())


def tell(text: str) -> None:
    """One text to the user."""
    os.write(2, f"{text}\n".encode())


async def script_lines() -> AsyncIterator[FromNode]:
    """What the script says on standard input, which has no end of its own."""
    reader = asyncio.StreamReader(LONGEST)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    with suppress(ValueError):  # a line that is too long
        while line := await reader.readline():
            try:
                yield parse_from_node(line)
            except Malformed as malformed:
                tell(f"error: unexpected message from the launch script: '"'"'{malformed}'"'"'")


class Host:
    """Node 0: its meeting, and the connections to the others."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.peers: dict[int, Channel] = {}
        self.meeting = Meeting(len(options.servers))
        self.meeting.hear(0, Here(options.run, options.master_port))

    async def serve(self, channel: Channel, hello: Hello) -> None:
        """A node that has proven itself, from then to its end."""
        name, is_here = self.options.servers[hello.node], False
        try:
            if self.admits(channel, hello):
                is_here = True
                async for line in channel.lines(SILENCE):
                    self.meeting.hear(hello.node, parse_from_node(line))
        except Malformed as malformed:
            tell(f"error: unexpected message in the name of server {name}: '"'"'{malformed}'"'"'")
        if is_here:
            self.meeting.leave(hello.node)

    def admits(self, channel: Channel, hello: Hello) -> bool:
        """Whether a node may join; it hears why not."""
        if hello.node in self.peers:
            channel.send(Refused(TWICE, self.options.sha256).line())
            return False
        if hello.sha256 != self.options.sha256:
            channel.send(Refused(OTHER_TABLE, self.options.sha256).line())
            tell(f"error: {self.options.servers[hello.node]} has another rank table, sha256 {hello.sha256}")
            tell(f"  this one is    sha256 {self.options.sha256}\n  fix: copy table and script of this node there")
            return False
        self.peers[hello.node] = channel
        self.meeting.hear(hello.node, Here(self.options.run, 0))
        return True

    async def gather(self) -> None:
        """Wait until all are here or one has failed. Raises Stop."""
        began = told = time.monotonic()
        while self.meeting.missing and not self.meeting.failures:
            await self.meeting.change()
            now, missing = time.monotonic(), [self.options.servers[node] for node in self.meeting.missing]
            if missing and now > began + self.options.patience:
                raise Stop(
                    2,
                    f"error: {named(missing)} did not come within {self.options.patience:g} s\n"
                    f"  fix: start this script there too; it must reach this node'"'"'s port {self.options.port}",
                )
            if missing and now > told + REMIND:
                told = now
                tell(f"waiting for {named(missing)}; start this script there too")

    def broadcast(self, line: str) -> None:
        """One message to every node, this one'"'"'s script included."""
        for channel in self.peers.values():
            channel.send(line)
        say(line)


async def serve(options: Options, secret: bytes) -> None:
    """Node 0. Raises Stop."""
    host = Host(options)
    door = Door(secret, options.sha256, len(options.servers), host.serve, tell)
    try:
        server = await asyncio.start_server(
            door.welcome, sock=listener(options.address, options.port, tell), limit=LONGEST
        )
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        raise Stop(
            2,
            f"error: the nodes of the job cannot meet at port {options.port}: {why}\n"
            f"  fix: export {options.port_name}=PORT, the same free one on every server",
        ) from error
    background = [
        asyncio.ensure_future(beat(host.peers.values(), options)),
        asyncio.ensure_future(listen_to_script(lambda message: host.meeting.hear(0, message))),
    ]
    await host.gather()
    host.broadcast(Start(options.run, options.master_port).line())
    end = await host.meeting.end()
    host.broadcast(end.line())
    await farewell(host.peers.values())
    server.close()
    for task in background:
        task.cancel()
    raise Stop(0 if end == Done() else 1)


async def farewell(peers: Iterable[Channel]) -> None:
    """Give the others the last word, as long as they take it."""
    for channel in peers:
        with suppress(OSError, asyncio.TimeoutError):
            await asyncio.wait_for(channel.writer.drain(), 1.0)
            channel.writer.close()
            await asyncio.wait_for(channel.writer.wait_closed(), 1.0)


async def beat(peers: Iterable[Channel], options: Options) -> None:
    """Signs of life to the others, as long as the script lives."""
    while True:
        options.assert_script_lives()
        for channel in peers:
            channel.send("")
        await asyncio.sleep(BEAT)


async def listen_to_script(hear: Callable[[FromNode], None]) -> None:
    """Hand on what the script says of the ranks of this node."""
    async for message in script_lines():
        hear(message)


async def join(options: Options, secret: bytes) -> None:
    """Any other node. Raises Stop."""
    channel = await knock(options, secret)
    background = [
        asyncio.ensure_future(beat([channel], options)),
        asyncio.ensure_future(listen_to_script(lambda message: channel.send(message.line()))),
    ]
    over = await hear_node_0(channel, options)
    for task in background:
        task.cancel()
    say(over.line())
    raise Stop(0 if over == Done() else 1)


async def hear_node_0(channel: Channel, options: Options) -> Over | Done:
    """Pass the start on to the script, and return how the job ended. Raises Stop where node 0 refuses this node."""
    try:
        async for line in channel.lines(SILENCE):
            message = parse_from_node_0(line, len(options.servers))
            if isinstance(message, (Over, Done)):
                return message
            if isinstance(message, Refused):
                raise Stop(2, f"error: {options.servers[0]} refuses this node: {reason(message, options)}")
            say(message.line())
    except Malformed as malformed:
        tell(f"error: unexpected message in the name of {options.where}: '"'"'{malformed}'"'"'")
    return Over(LOST, LOST_CODE, 0)


def reason(refused: Refused, options: Options) -> str:
    """Why node 0 refuses this node."""
    if refused.reason == TWICE:
        return f"{options.servers[options.node]} has come already"
    return f"node 0 has the table {refused.sha256}"


async def knock(options: Options, secret: bytes) -> Channel:
    """A connection to node 0, which may be started later than this one. Raises Stop."""
    began = told = time.monotonic()
    while True:
        options.assert_script_lives()
        try:
            return await asyncio.wait_for(prove(options, secret), SILENCE)
        except Malformed as malformed:
            raise Stop(
                2,
                f"error: {options.where} does not prove that it knows the secret of this job: '"'"'{malformed}'"'"'\n"
                f"  fix: copy {options.secret_file} of {options.servers[0]} here; or, where another program has that\n"
                f"  port, export {options.port_name}=PORT, the same free one on every server",
            ) from malformed
        except (OSError, EOFError, ValueError, asyncio.TimeoutError) as error:
            now = time.monotonic()
            if now > began + options.patience:
                raise Stop(
                    2,
                    f"error: {options.where} did not answer within {options.patience:g} s: {printable(str(error))}\n"
                    "  fix: start this script there too",
                ) from error
            if now > told + REMIND:
                told = now
                tell(f"waiting for {options.where}; start this script there too")
            await asyncio.sleep(0.1)


async def prove(options: Options, secret: bytes) -> Channel:
    """One attempt: node 0 proves itself, then this node. Raises Malformed where somebody else answers."""
    reader, writer = await asyncio.open_connection(options.address, options.port, limit=LONGEST)
    try:
        hello = Hello(options.node, options.sha256, fresh())
        writer.write(f"hello {hello.node} {hello.sha256} {hello.nonce}\n".encode())
        line = await reader.readline()
        if not line.endswith(b"\n"):
            raise EOFError("the connection ended")
        answer = parse_answer(line)
        heard = hello, answer.sha256, answer.nonce
        if not equal(answer.proof, proof_of(secret, "node 0", *heard)):
            raise Malformed(printable(line.rstrip(b"\n")))
        writer.write(f"proof {proof_of(secret, '"'"'node'"'"', *heard)}\n".encode())
        return Channel(reader, writer, proof_of(secret, "session", *heard), is_node_0=False)
    except BaseException:
        writer.close()
        raise


def main(argv: Sequence[str]) -> int:
    """The program; returns its exit code."""
    script = os.getppid()
    with suppress(OSError, AttributeError):  # at once, so that a job which is started again does not meet this one
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    for deadly in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(deadly, signal.SIG_IGN)  # the script hears them, and says here what becomes of the job
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # a connection to every node
    node, address, port, port_name, sha256, patience, run, master_port, secret_file, *servers = argv
    options = Options(
        *(int(node), address, int(port), port_name, sha256, float(patience), run, int(master_port), secret_file),
        servers=tuple(map(printable, servers)),
        script=script,
    )
    try:
        secret = read_secret(secret_file)
        asyncio.run(join(options, secret) if options.node else serve(options, secret))
    except SecretError as error:
        tell(str(error))
        return 2
    except Stop as stop:
        if stop.text:
            tell(stop.text)
        return stop.code
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
'

# A server is known by its id in the table and by its addresses; `names` has those of each server, `server` is what the
# user says.
addresses_by_ip() { ip -o addr | sed -n 's/.* inet6\{0,1\} \([^/ ]*\).*/\1/p'; }

find_server() { # sets node, the index of this server, and server_name
    local i name here_names
    if [[ -n $server ]]; then
        here_names=("$server")
    else
        read -ra here_names -d '' < <(hostname -I 2>/dev/null || addresses_by_ip) || :
        here_names+=("$HOSTNAME" "${HOSTNAME%%.*}")
    fi
    local -A is_here=()
    for name in "${here_names[@]}"; do is_here[$name]=1; done
    node=''
    for i in "${!names[@]}"; do
        while read -r name; do
            [[ -n $name && -n ${is_here[$name]:-} ]] || continue
            [[ -z $node || $node == "$i" ]] ||
                die "error: this host is both ${servers[node]} and ${servers[i]} of the table" \
                    "  fix: say which one with --server ${servers[i]}"
            node=$i
        done <<<"${names[i]}"
    done
    if [[ -z $node ]]; then
        name="${servers[*]:0:8}"
        ((${#servers[@]} <= 8)) || name+=" and $((${#servers[@]} - 8)) more"
        die "error: this host is no server of the table: it has ${here_names[*]}" "  the table has $name" \
            '  fix: run this script on one of them, or say which one this is with --server ID'
    fi
    server_name=${servers[node]}
}

need_python() {
    [[ -n $python ]] || die "error: no python 3.8 or newer is on PATH; a job of several servers needs one" \
        '  fix: install one, or name the one of the command by its path'
}

# The nodes talk by the link, a program that hears this script on descriptor 7 and answers on descriptor 8. A script
# that was started over ssh talks to its starter instead, which hears what has the token in front among all output.
start_link() {
    local patience=600
    ((attempt == 0)) || patience=60
    [[ $link_port =~ ^[1-9][0-9]{0,4}$ && $link_port -le 65535 ]] || die "error: $link_port_name=$link_port is no port"
    exec 7<> <(:)
    "$python" -I -c "$rendezvous_program" "$node" "$master" "$link_port" "$link_port_name" "$table_sha256" \
        "$patience" "$run" "$port" "$secret_file" "${servers[@]}" <&7 >&8 9>&- &
    link=$!
}

# Where the nodes do not come together to start again, the exit code is that of the failure before.
meet() { # the nodes come together, and agree on what node 0 says: the run and the port, which is 0 to give up
    local kind rank code where
    port=0
    ((node > 0)) || [[ -n $given_up ]] || choose_port
    [[ -n $run ]] || printf -v run '%(%Y%m%d-%H%M%S)T-%s' -1 "$$"
    if [[ -n $token ]]; then tell "here $run $port"; else start_link; fi
    until next_note 4; do
        kill -0 "${link:-$lifeline}" 2>/dev/null || { wait "${link:-$lifeline}" || exit "${last_code:-$?}"; }
    done
    case $kind in
        start)
            run=$rank port=$code
            ((port > 0 || node == 0)) || [[ -n $lifeline ]] || echo "given up: so says server ${servers[0]}" >&2 ;;
        gone) quit HUP 129 ;;
        *)
            [[ -n $lifeline ]] || echo "error: server $where failed before the job began" >&2
            exit "${last_code:-$code}" ;;
    esac
}

tell() { # WORDS: to the other nodes; where nobody hears it any more, that is noticed elsewhere
    [[ -z $link$token ]] || (trap '' PIPE && echo "${token:+$token }$1" >&7) 2>/dev/null || :
}

judged() { # [TWENTIETHS of a second]: wait for what became of the job; 1 where it failed, with judged_rank and so on
    local kind rank code where is_there=1 left=${1:--1}
    judged_rank=-1 judged_code=255 judged_where=${servers[0]}
    while ((is_there && left != 0)); do
        left=$((left - 1))
        kill -0 "${link:-$lifeline}" 2>/dev/null || is_there=0
        while next_note 1; do
            case $kind in
                done) return 0 ;;
                over)
                    judged_rank=$rank judged_code=$code judged_where=$where
                    return 1 ;;
            esac
        done
    done
    ((${1:--1} > 0)) # no word is no verdict
}

describe_other() { # RANK CODE SERVER: what ended the job on another server
    echo
    case $1 in
        -1) echo "ended: server $3 was lost; logs of this server in $logs" ;;
        -2) echo "ended: the script on server $3 ended with exit code $2; logs of this server in $logs" ;;
        -3) echo "ended: a rank on server $3 was lost, exit code $2; logs of this server in $logs" ;;
        *) echo "ended: rank $1 on server $3 failed with exit code $2; its log is there" ;;
    esac
}

find_python 8
need_python
find_server
read -ra ranks <<<"${all_ranks[node]}"
read -ra devices <<<"${all_devices[node]}"
visible=${all_visible[node]}

# Nobody writes on descriptor 6, so no process is needed that could outlive the script.
idle() { # SECONDS
    read -r -t "$1" -u 6 || :
}

# Who ends says so on descriptor 8, in the order of ending: a pipe, since the disk may be full. A line is written at
# once; to wait for it by the time-out of read would cut it on a busy machine.
next_note() { # TWENTIETHS of a second to wait; sets kind, rank, code and where, the id of a server
    local i note
    for ((i = 0; ; i++)); do
        if read -r -t 0 -u 8 && IFS= read -r -u 8 note; then
            read -r kind rank code where <<<"$note"
            is_note && return
            kind='' rank='' code='' where=''
            printf 'error: unexpected message to the launch script: %.200q\n' "$note" >&2
        fi
        ((i < $1)) || return 1
        sleep 0.05
    done
}

# The shell evaluates what stands in ((...)), after -eq or in an index: a[$(id)] would run id, and 08 is an error. So
# text from elsewhere is a number of this form before it gets there.
whole='^(0|[1-9][0-9]{0,8})$'

is_note() { # that kind, rank, code and where are of the form and range that is used later
    case $kind in
        done) [[ -z $rank$code$where ]] ;;
        start) [[ $rank =~ ^[0-9]{1,20}(-[0-9]{1,20})+$ && $code =~ $whole && $code -le 65535 && -z $where ]] ;;
        over)
            is_failure && [[ $where =~ $whole && $where -lt ${#servers[@]} ]] || return 1
            where=${servers[where]} ;;
        rank | hang | gone | guard) [[ -z $where ]] && is_failure ;;
        *) return 1 ;;
    esac
}

is_failure() {
    [[ $rank =~ ^-[1-3]$ || $rank =~ $whole ]] && is_code "$code"
}

is_code() { # that a text is an exit code
    [[ $1 =~ $whole && $1 -le 255 ]]
}

is_running() { # PID
    kill -s 0 "$1" 2>/dev/null
}

hear_signals() {
    trap 'quit HUP 129' HUP
    trap 'quit INT 130' INT
    trap 'quit TERM 143' TERM
}

tell_guard() { # WORD
    (echo "$1" >&9) 2>/dev/null || { start_guard none && echo "$1" >&9; } # it was killed, and the pipe is broken
}

end_ranks() { # a signal meanwhile changes nothing but that there is no restart
    trap 'max_restarts=0' HUP INT TERM
    for _ in 1 2 3; do
        exec 9>&-
        while is_running "$guard"; do sleep 0.05; done
        if read -r -t 0 -u 5; then break; fi
        start_guard none # the other one was killed before it was done
    done
    guard='' # nobody is there to be told of a later signal
    hear_signals
}

quit() { # SIGNAL CODE: every process gets the signal that this script got
    trap '' HUP INT TERM
    tell "failed -2 $2 0"
    if [[ -n $guard ]]; then
        [[ $1 == TERM ]] || tell_guard "$1" # TERM is sent anyway
        end_ranks
    fi
    trap '' HUP INT TERM
    if [[ -n ${before_nap:-} && $! != "$before_nap" ]]; then # the pause before a restart leaves no sleep behind
        kill "$!" 2>/dev/null || :
        wait "$!" || :
    fi
    for _ in {1..20}; do # the link ends with this script, and has to tell the others first
        if ! { [[ -n $link ]] && kill -0 "$link"; } 2>/dev/null; then break; fi
        sleep 0.05
    done
    echo "ended by SIG$1${logs:+; logs in $logs}" >&2 || :
    exit "$2"
}

exec 6<> <(:) 8<> <(:)
guard='' run=''
hear_signals
meet
logs=$PWD/hccl_logs/$run.$node
if ! mkdir -p hccl_logs || ! mkdir -- "$logs"; then die "error: cannot make the log folder $logs"; fi

# Left over from other ways of starting, these would override what msrun sets.
unset -v MINDSPORE_HCCL_CONFIG_PATH ASCEND_RT_VISIBLE_DEVICES ASCEND_DEVICE_ID MS_ROLE MS_WORKER_NUM \
    MS_SCHED_HOST MS_SCHED_PORT MS_NODE_ID OMPI_COMMAND PMIX_RANK TORCHELASTIC_USE_AGENT_STORE RANK_ID \
    RANK RANK_SIZE WORLD_SIZE LOCAL_RANK DEVICE_NUM LOCAL_WORLD_SIZE DEVICE_ID RANK_TABLE_FILE \
    MASTER_ADDR MASTER_PORT HCCL_KIT_RUN_ID HCCL_KIT_RESTART HCCL_KIT_SERVER
[[ -z $visible ]] || export ASCEND_RT_VISIBLE_DEVICES="$visible" # msrun counts devices from 0 on
mark=HCCL_KIT_LOG_DIR=$logs # in the environment of msrun and of all that it starts, of nobody else

# msrun leaves its workers to live on when it is ended. The guard shows a rank, and ends every process with MARK in its
# environment once its pipe is closed: by this script, or by its death, whatever the cause. It has a session of its own,
# so that it outlives the script. It reads "msrun PID" and "watch PID". The script looks whether the guard is alive,
# and so does the watch, where the script may be gone too; the guard ends the watch first. Where all three are gone, the
# kernel ends msrun and asks its workers to.
guard() { # MARK LOG
    trap '' HUP INT TERM
    local kind path pid msrun='' watch='' screen='' signal found
    while read -r kind pid; do
        [[ $kind != watch ]] || watch=$pid
        [[ $kind == msrun ]] || continue
        msrun=$pid
        tail -n +1 -f -s 0.1 --pid="$msrun" -- "$2" &
        screen=$!
    done
    [[ -z $watch ]] || kill "$watch" # or it would start another guard once this one is done
    for signal in TERM KILL KILL; do
        found=()
        while read -r -t 0.5 path; do
            path=${path#/proc/}
            found+=("${path%/environ}")
        done < <(grep --line-buffered -lzxF -e "$1" /proc/[0-9]*/environ)
        ((${#found[@]} > 0)) || break
        kill -s "$signal" "${found[@]}"
        for _ in {1..16}; do
            kill -s 0 "${found[@]}" || break
            sleep 0.05
        done
    done
    [[ -z $msrun ]] || ! kill -s 0 "$msrun" || kill -s KILL "$screen" # it hangs in a driver
    [[ -z $screen ]] || wait "$screen"
    echo 'done' >&5
} 2>/dev/null

start_guard() { # SHOWN: first or none of the ranks; sets guard and on_screen
    on_screen=$1
    exec 5<> <(:)
    exec 9> >(exec setsid "$BASH" -c "$(declare -f guard); guard \"\$@\"" guard "$mark" "$log")
    guard=$!
}

watch_guard() { # another one does the work of a dead one
    echo "watch $BASHPID" >&9 && exec 9>&-
    while is_running "$guard"; do idle 1; done
    start_guard none
}

read_failed() { # sets name and code, as the worker program has noted them
    local line own=(scheduler "${ranks[@]/#/worker_}")
    [[ -f $logs/failed ]] && read -r -n 80 line <"$logs/failed" || return 1
    for name in "${own[@]}"; do
        code=${line#"$name "}
        if [[ $line == "$name $code" ]] && is_code "$code" && ((code > 0)); then return; fi
    done
    name='' code=0
    return 1
}

conclude() { # what became of msrun and its ranks here; the others hear of it, and it is agreed on who failed first
    local patience=-1
    if read_failed; then
        [[ $name != worker_* ]] || rank=${name#worker_}
    else # nobody noted it where msrun itself failed
        wait "$msrun" || code=$?
    fi
    if ((code == 0)); then tell 'done'; else tell "failed $rank $code 0" && patience=400; fi
    end_ranks
    judged "$patience" || rank=$judged_rank code=$judged_code where=$judged_where
}

# Both go to one place, the guard showed the log to its end, and nothing that is left out here follows its last line.
ends_screen() { # LOG LINE
    [[ -n $one_screen && $on_screen == first && -n $2 && $(tail -c "$((4 * ${#2} + 8))" -- "$1") == *"$2" ]]
} 2>/dev/null

describe() { # who failed here: the rank or scheduler `name`, without a name msrun
    local signal='' log=$logs/msrun.log what=$name end
    echo
    if [[ $name == guard ]]; then
        echo "error: the process that guards the ranks was killed, so the job was ended with exit code $code;" \
            "logs in $logs"
        return
    elif [[ -z $name ]]; then
        echo "error: msrun failed on $HOSTNAME with exit code $code"
    else
        ((code <= 128)) || signal=$(kill -l "$code" 2>/dev/null) || :
        [[ $name != worker_* ]] || what="rank $rank on device ${devices[rank - ranks[0]]}"
        echo "error: $what of $HOSTNAME failed with exit code $code${signal:+ (SIG$signal)}"
        log=$logs/$name.log
    fi
    # MindSpore goes on to write after the traceback of a program.
    { end=$(grep -av '^\[\(INFO\|WARNING\)\] ' -- "$log" | tail -n 30) || :; } 2>/dev/null # NUL would be complained of
    if [[ $name == "worker_${ranks[0]}" ]] && ends_screen "$log" "${end##*$'\n'}"; then
        echo "  its last lines are above, and in $log"
    else
        printf '%s\n' "  the end of $log, without what MindSpore notes on its way:" "$end"
    fi
}

log=$logs/worker_${ranks[0]}.log
: >"$log"
start_guard first
echo "ranks ${ranks[0]} to ${ranks[-1]} on devices ${devices[*]} of $HOSTNAME (server $server_name)," \
    "scheduler at $master:$port, logs in $logs"
# msrun is told to show a worker that does not exist, since it would leave the programs that show them to live on.
own_session=(setsid)
if setpriv --pdeathsig KILL true 2>/dev/null; then own_session=(setpriv --pdeathsig KILL -- setsid); fi
env "$mark" "${own_session[@]}" msrun --worker_num "$size" --local_worker_num "${#devices[@]}" \
    --master_addr "$master" --master_port "$port" --node_rank "$node" --join True --cluster_time_out 300 \
    --log_dir "$logs" --tail_worker_log "$size" python -I -c "$worker" "$logs" "${command[@]}" "$@" \
    >"$logs/msrun.log" 2>&1 5>&- 6>&- 7>&- 8>&- 9>&- &
msrun=$!
tell_guard "msrun $msrun"
watch_guard >/dev/null 2>&1 &

kind='' name='' rank=-2 code=0 where=$server_name
while is_running "$msrun" && [[ ! -s $logs/failed && -z $kind ]]; do
    is_running "$guard" || kind=guard name=guard rank=-3 code=137
    next_note 1 || [[ -z $link ]] || is_running "$link" || next_note 1 ||
        kind=over rank=-1 code=255 where=${servers[0]}
done
case $kind in
    '') conclude ;;
    guard)
        tell "failed $rank $code 0"
        end_ranks ;;
    *) end_ranks ;;
esac
if [[ $code != 0 && $where == "$server_name" && $rank != -1 ]]; then
    describe >&2
elif ((code != 0)); then
    describe_other "$rank" "$code" "$where" >&2
fi
[[ -z $link ]] || wait "$link" 2>/dev/null || :
((code == 0)) || exit "$code"
