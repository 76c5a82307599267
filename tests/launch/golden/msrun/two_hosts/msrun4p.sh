#!/usr/bin/env bash
# Starts ranks 0 to 3 on 2 hosts by msrun of MindSpore. Written by hccl_kit.
#
#   bash msrun4p.sh [ARGUMENT ...]      the arguments are added to the command below
#
# Run it on every host, within 600 s. --server ID in front of the arguments, or
# HCCL_KIT_SERVER=ID, says which server of the rank table this one is, where its addresses do not tell.
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
worker='import ctypes, os, signal, subprocess, sys

def end_with_parent():
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
sys.exit(code)'

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
link=''

# shellcheck disable=SC2016  # a program in Python
link_program='"""How the nodes of a job tell each other how it goes; the launch script of several servers carries this text.

    link.py NODE ADDRESS PORT PORT_NAME TABLE_SHA256 PATIENCE RUN MASTER_PORT SERVER ...

Node 0 listens on PORT, the others come to ADDRESS. When all are there, every node prints `start RUN MASTER_PORT`, as
node 0 has them, and its script starts the ranks. After that it hears from the script, on standard input, `done` or
`failed RANK CODE SECONDS` with the seconds that have passed since. Node 0 tells all who failed first:
`over RANK CODE SERVER`. A node that leaves without a word, or is silent for SILENCE seconds, has failed with rank -1.

Exit codes: 0 all are done, 1 somebody failed, 2 the nodes did not come together. It needs nothing but Python 3.8, and
ends with the script that started it. Numbers and names of at most LONGEST bytes cross the network, nothing else.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import resource
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from typing import NamedTuple

LONGEST = 1024
"""Bytes of a line."""
BEAT, SILENCE = 1.0, 6.0
"""Seconds between two signs of life, and after which a node counts as lost."""
JUDGING = 0.3
"""Seconds after the first bad news in which a node may tell of an earlier failure."""
LOST = "-1", "255"
"""Rank and exit code of a node that is gone."""
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
    master_port: str
    servers: tuple[str, ...]
    script: int

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


def send(writer: asyncio.StreamWriter, line: str) -> None:
    """One line to another node; that it is gone is noticed by whoever reads."""
    with suppress(OSError, RuntimeError):
        writer.write(f"{line}\n".encode())


async def lines_of(reader: asyncio.StreamReader, silence: float | None) -> AsyncIterator[list[str]]:
    """The words of each line, signs of life left out; ends where the other side is gone, silent or talks nonsense."""
    with suppress(OSError, asyncio.TimeoutError, ValueError):
        while line := await asyncio.wait_for(reader.readline(), silence):
            words = line.decode().split()
            if words:
                yield words


async def script_lines() -> AsyncIterator[list[str]]:
    """What the script says on standard input, which has no end of its own."""
    reader = asyncio.StreamReader(LONGEST)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    async for words in lines_of(reader, None):
        yield words


class Meeting:
    """Node 0: who is here, who is done, who has failed and when by the clock of this node."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.peers: dict[int, asyncio.StreamWriter] = {}
        self.done: set[int] = set()
        self.failures: list[tuple[float, str, str, str]] = []
        self.changed = asyncio.Event()

    @property
    def missing(self) -> list[str]:
        """The servers that have not come yet."""
        return [name for node, name in enumerate(self.options.servers) if node and node not in self.peers]

    def hear(self, node: int, words: list[str]) -> None:
        """What the script of a node says of its ranks."""
        if words == ["done"]:
            self.done.add(node)
        elif words[0] == "failed":
            _, rank, code, ago = words
            self.fail(node, str(int(rank)), str(int(code)), float(ago))
        self.changed.set()

    def fail(self, node: int, rank: str, code: str, ago: float = 0.0) -> None:
        """A node has failed `ago` seconds before now."""
        self.failures.append((time.monotonic() - ago, rank, code, self.options.servers[node]))
        self.changed.set()

    async def welcome(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, from its hello to its end."""
        node = None
        with suppress(ValueError, asyncio.CancelledError):  # cancelled at the end of this program
            async for words in lines_of(reader, SILENCE):
                if node is not None:
                    self.hear(node, words)
                    continue
                node = self.greet(words, writer)
                if node is None:
                    break
        if node is not None and node not in self.done:
            self.fail(node, *LOST)
        writer.close()

    def greet(self, words: list[str], writer: asyncio.StreamWriter) -> int | None:
        """`hello NODE SHA256`: the node, where it is one of this job with the table of this job."""
        if len(words) != 3 or words[0] != "hello" or not 0 < int(words[1]) < len(self.options.servers):
            return None
        node, sha256 = int(words[1]), words[2]
        if node in self.peers:
            send(writer, f"refused {self.options.servers[node]}-has-come-already")
            return None
        if sha256 != self.options.sha256:
            send(writer, f"refused node-0-has-the-table-{self.options.sha256}")
            tell(f"error: {self.options.servers[node]} has another rank table, sha256 {sha256[:64]}")
            tell(f"  this one is    sha256 {self.options.sha256}\n  fix: copy table and script of this node there")
            return None
        self.peers[node] = writer
        self.changed.set()
        return node

    def broadcast(self, line: str) -> None:
        """One line to every node, this one'"'"'s script included."""
        for writer in self.peers.values():
            send(writer, line)
        say(line)


def named(servers: list[str]) -> str:
    """The first of many names."""
    return ", ".join(servers[:8]) + (f" and {len(servers) - 8} more" if len(servers) > 8 else "")


async def serve(options: Options) -> None:
    """Node 0. Raises Stop."""
    meeting = Meeting(options)
    try:
        server = await asyncio.start_server(meeting.welcome, None, options.port, limit=LONGEST)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        raise Stop(
            2,
            f"error: the nodes of the job cannot meet at port {options.port}: {why}\n"
            f"  fix: export {options.port_name}=PORT, the same free one on every server",
        ) from error
    background = [
        asyncio.ensure_future(beat(meeting.peers, options)),
        asyncio.ensure_future(listen_to_script(meeting.hear)),
    ]
    began = told = time.monotonic()
    while meeting.missing and not meeting.failures:
        now = time.monotonic()
        if now > began + options.patience:
            raise Stop(
                2,
                f"error: {named(meeting.missing)} did not come within {options.patience:g} s\n"
                f"  fix: start this script there too; it must reach this node'"'"'s port {options.port}",
            )
        if now > told + REMIND:
            told = now
            tell(f"waiting for {named(meeting.missing)}; start this script there too")
        await change(meeting)
    meeting.broadcast(f"start {options.run} {options.master_port}")
    while len(meeting.done) < len(options.servers) and not meeting.failures:
        await change(meeting)
    if meeting.failures:
        await asyncio.sleep(JUDGING)
        _, rank, code, name = min(meeting.failures)
        meeting.broadcast(f"over {rank} {code} {name}")
    else:
        meeting.broadcast("done")
    await farewell(meeting.peers)
    server.close()
    for task in background:
        task.cancel()
    raise Stop(1 if meeting.failures else 0)


async def change(meeting: Meeting) -> None:
    """Until something happens, or for a second."""
    with suppress(asyncio.TimeoutError):
        await asyncio.wait_for(meeting.changed.wait(), 1.0)
    meeting.changed.clear()


async def farewell(peers: dict[int, asyncio.StreamWriter]) -> None:
    """Give the others the last word, as long as they take it."""
    for writer in peers.values():
        with suppress(OSError, asyncio.TimeoutError):
            await asyncio.wait_for(writer.drain(), 1.0)
            writer.close()
            await asyncio.wait_for(writer.wait_closed(), 1.0)


async def beat(peers: dict[int, asyncio.StreamWriter], options: Options) -> None:
    """Signs of life to the others, as long as the script lives."""
    while True:
        options.assert_script_lives()
        for writer in peers.values():
            send(writer, "")
        await asyncio.sleep(BEAT)


async def listen_to_script(hear: Callable[[int, list[str]], None]) -> None:
    """Hand on what the script says of the ranks of this node."""
    async for words in script_lines():
        hear(0, words)


async def join(options: Options) -> None:
    """Any other node. Raises Stop."""
    reader, writer = await knock(options)
    send(writer, f"hello {options.node} {options.sha256}")
    background = [
        asyncio.ensure_future(beat({0: writer}, options)),
        asyncio.ensure_future(listen_to_script(lambda _, words: send(writer, " ".join(words)))),
    ]
    over = f"over {'"'"' '"'"'.join(LOST)} {options.servers[0]}"
    async for words in lines_of(reader, SILENCE):
        if words[0] == "refused":
            raise Stop(2, f"error: {options.servers[0]} refuses this node: {words[1].replace('"'"'-'"'"', '"'"' '"'"')}")
        over = " ".join(words)
        if words[0] != "start":
            break
        say(over)
        over = f"over {'"'"' '"'"'.join(LOST)} {options.servers[0]}"
    say(over)
    for task in background:
        task.cancel()
    raise Stop(0 if over == "done" else 1)


async def knock(options: Options) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection to node 0, which may be started later than this one."""
    began = told = time.monotonic()
    while True:
        options.assert_script_lives()
        try:
            return await asyncio.wait_for(
                asyncio.open_connection(options.address, options.port, limit=LONGEST), SILENCE
            )
        except (OSError, asyncio.TimeoutError) as error:
            now, where = time.monotonic(), f"{options.servers[0]} ({options.address} port {options.port})"
            if now > began + options.patience:
                raise Stop(
                    2,
                    f"error: {where} did not answer within {options.patience:g} s: {error}\n"
                    "  fix: start this script there too",
                ) from error
            if now > told + REMIND:
                told = now
                tell(f"waiting for {where}; start this script there too")
            await asyncio.sleep(0.1)


def main(argv: Sequence[str]) -> int:
    """The program; returns its exit code."""
    script = os.getppid()
    with suppress(OSError, AttributeError):  # at once, so that a job which is started again does not meet this one
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # the script hears them, and says here what becomes of the job
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # a connection to every node
    node, address, port, port_name, sha256, patience, run, master_port, *servers = argv
    options = Options(
        int(node), address, int(port), port_name, sha256, float(patience), run, master_port, tuple(servers), script
    )
    try:
        asyncio.run(join(options) if options.node else serve(options))
    except Stop as stop:
        if stop.text:
            tell(stop.text)
        return stop.code
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))'

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

# Where the nodes do not come together to start again, the exit code is that of the failure before.
meet() { # the nodes come together, and agree on what node 0 says: the run and the port, which is 0 to give up
    local kind rank code where patience=600
    ((attempt == 0)) || patience=60
    [[ $link_port =~ ^[1-9][0-9]{0,4}$ && $link_port -le 65535 ]] || die "error: $link_port_name=$link_port is no port"
    port=0
    ((node > 0)) || [[ -n $given_up ]] || choose_port
    [[ -n $run ]] || printf -v run '%(%Y%m%d-%H%M%S)T-%s' -1 "$$"
    exec 7<> <(:)
    "$python" -I -c "$link_program" "$node" "$master" "$link_port" "$link_port_name" "$table_sha256" \
        "$patience" "$run" "$port" "${servers[@]}" <&7 >&8 9>&- &
    link=$!
    until next_note 4; do
        kill -0 "$link" 2>/dev/null || { wait "$link" || exit "${last_code:-$?}"; }
    done
    case $kind in
        start)
            run=$rank port=$code
            [[ $run =~ ^[0-9]+(-[0-9]+)+$ && $port =~ ^[0-9]+$ ]] || die "error: node 0 says nonsense: $run $port"
            ((port > 0 || node == 0)) || [[ -n $lifeline ]] || echo "given up: so says server ${servers[0]}" >&2 ;;
        gone) quit HUP 129 ;;
        *)
            echo "error: server $where failed before the job began" >&2
            exit "${last_code:-$code}" ;;
    esac
}

tell() { # WORDS: to the other nodes, by the link
    [[ -z $link ]] || echo "$1" >&7
}

judged() { # [TWENTIETHS of a second]: wait for what became of the job; 1 where it failed, with judged_rank and so on
    local kind rank code where is_there=1 left=${1:--1}
    judged_rank=-1 judged_code=255 judged_where=${servers[0]}
    while ((is_there && left != 0)); do
        left=$((left - 1))
        kill -0 "$link" 2>/dev/null || is_there=0
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
next_note() { # TWENTIETHS of a second to wait; sets kind, rank, code and where
    local i
    for ((i = 0; ; i++)); do
        if read -r -t 0 -u 8; then read -r -u 8 kind rank code where && return; fi
        ((i < $1)) || return 1
        sleep 0.05
    done
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
# so that it outlives the script. It reads the process id of msrun. The script looks whether the guard is alive, and so
# does the watch, where the script may be gone too. Where all three are, the kernel ends msrun and asks its workers to.
guard() { # MARK LOG
    trap '' HUP INT TERM
    local path pid msrun='' screen='' signal found
    while read -r pid; do
        [[ $pid =~ ^[0-9]+$ ]] || continue
        msrun=$pid
        tail -n +1 -f -s 0.1 --pid="$msrun" -- "$2" &
        screen=$!
    done
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

start_guard() { # sets guard
    exec 5<> <(:)
    exec 9> >(exec setsid "$BASH" -c "$(declare -f guard); guard \"\$@\"" guard "$mark" "$log")
    guard=$!
}

watch_guard() { # another one does the work of a dead one
    exec 9>&-
    while is_running "$guard"; do idle 1; done
    start_guard
}

conclude() { # what became of msrun and its ranks here; the others hear of it, and it is agreed on who failed first
    local patience=-1
    if [[ -s $logs/failed ]]; then
        read -r name code <"$logs/failed"
        [[ $name != worker_* ]] || rank=${name#worker_}
    else # nobody noted it where msrun itself failed
        wait "$msrun" || code=$?
    fi
    if ((code == 0)); then tell 'done'; else tell "failed $rank $code 0" && patience=100; fi
    end_ranks
    judged "$patience" || rank=$judged_rank code=$judged_code where=$judged_where
}

describe() { # who failed here: the rank or scheduler `name`, without a name msrun
    local signal='' log=$logs/msrun.log what=$name
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
    echo "  the end of $log, without what MindSpore notes on its way:"
    grep -av '^\[\(INFO\|WARNING\)\] ' -- "$log" | tail -n 30 || :
}

log=$logs/worker_${ranks[0]}.log
: >"$log"
start_guard
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
tell_guard "$msrun"
watch_guard >/dev/null 2>&1 &
watch=$!
trap 'kill "$watch" 2>/dev/null || :' EXIT

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
