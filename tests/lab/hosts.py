"""A lab of several hosts on one machine: a network namespace, a host name and an sshd for each, on one bridge.

with hosts(2) as lab:
    lab.run(0, ["ssh", lab.names[1], "hostname"])      # plain ssh, by name or address, as on a cluster

A host has its own network and name, and shares everything else with this machine. Inside it, /etc/hosts and /etc/ssh
are the lab's (`ip netns exec` mounts /etc/netns/NAME over /etc). Everything of a lab has the id of its process in
its name, so that labs of parallel runs do not clash and those of killed runs are removed by the next.
"""

from __future__ import annotations

import itertools
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

MAX_HOSTS = 16
PATIENCE = 60.0
"""Seconds until a killed process has ended."""
SSHD_PATIENCE = 180.0
"""Seconds until an sshd answers; on a busy machine, a login takes long."""
NETNS = Path("/etc/netns")
PREFIX = "hk"

_count = itertools.count()


@dataclass(frozen=True)
class Hosts:
    """Hosts 0, 1, ... of a lab; `folder` holds the keys and logs of their sshds."""

    tag: str
    folder: Path
    addresses: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The host names; every host knows the addresses of all."""
        return tuple(f"node{index + 1}" for index in range(len(self.addresses)))

    @property
    def ssh_config(self) -> Path:
        """The configuration for an ssh that is started outside of the hosts: `ssh -F`."""
        return self.folder / "ssh_config"

    def inside(self, index: int, argv: Sequence[str | Path]) -> list[str]:
        """The command that runs `argv` on a host."""
        enter = ["ip", "netns", "exec", _namespace(self.tag, index), "unshare", "--uts"]
        rename = ["sh", "-c", 'hostname "$0" && exec "$@"', self.names[index]]
        return [*enter, *rename, *map(str, argv)]

    def start(
        self,
        index: int,
        argv: Sequence[str | Path],
        *,
        environ: Mapping[str, str] | None = None,
        folder: Path | None = None,
        stderr: int = subprocess.PIPE,
    ) -> subprocess.Popen[str]:
        """Start `argv` on a host, in a new session; the process is that of `argv`."""
        return subprocess.Popen(
            self.inside(index, argv),
            cwd=folder,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            start_new_session=True,
        )

    def run(
        self,
        index: int,
        argv: Sequence[str | Path],
        *,
        environ: Mapping[str, str] | None = None,
        folder: Path | None = None,
        seconds: float = 300.0,
    ) -> subprocess.CompletedProcess[str]:
        """Run `argv` on a host to its end; after `seconds`, it is killed and TimeoutExpired is raised."""
        process = self.start(index, argv, environ=environ, folder=folder)
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def add_name(self, index: int, name: str) -> None:
        """Give a host an additional name, which every host can resolve."""
        for number in range(len(self.addresses)):
            with (NETNS / _namespace(self.tag, number) / "hosts").open("a") as file:
                file.write(f"{self.addresses[index]} {name}\n")

    def processes(self, index: int) -> list[int]:
        """The processes of a host, including its sshd."""
        return _processes(_namespace(self.tag, index))

    def cut(self, index: int) -> None:
        """Pull the cable of a host."""
        _ip("link", "set", _cable(self.tag, index), "down")

    def slow(self, index: int, megabits: int) -> None:
        """Limit the sending rate of a host to `megabits` per second, as a bad cable or a wrong port speed does."""
        limit = ["rate", f"{megabits}mbit", "burst", "64kb", "latency", "50ms"]
        _tc(_namespace(self.tag, index), "qdisc", "replace", "dev", "eth0", "root", "tbf", *limit)

    def full_speed(self, index: int) -> None:
        """Remove the limit of `slow`; even a high limit would have an effect."""
        _tc(_namespace(self.tag, index), "qdisc", "del", "dev", "eth0", "root")

    @contextmanager
    def uplink(self, indexes: Sequence[int], megabits: int) -> Iterator[None]:
        """Put some hosts on a second bridge, which a cable of `megabits` per second connects to the first."""
        bridge, ends = f"{self.tag}b", (f"{self.tag}v98", f"{self.tag}v99")
        _ip("link", "add", bridge, "type", "bridge")
        _ip("link", "add", ends[0], "type", "veth", "peer", "name", ends[1])
        for name, end in zip((self.tag, bridge), ends, strict=True):
            _ip("link", "set", end, "master", name, "up")
            limit = ["rate", f"{megabits}mbit", "burst", "64kb", "latency", "50ms"]
            subprocess.run(["tc", "qdisc", "replace", "dev", end, "root", "tbf", *limit], check=True)
        _ip("link", "set", bridge, "up")
        try:
            for index in indexes:
                _ip("link", "set", _cable(self.tag, index), "master", bridge)
            yield
        finally:
            for index in indexes:
                _ip("link", "set", _cable(self.tag, index), "master", self.tag)
            _ip("link", "del", ends[0])
            _ip("link", "del", bridge)

    def heal(self, index: int) -> None:
        """Put the cable back."""
        _ip("link", "set", _cable(self.tag, index), "up")


@contextmanager
def hosts(count: int) -> Iterator[Hosts]:
    """A lab of `count` hosts, 1 to MAX_HOSTS; nothing of it is left at the end, no process of its hosts either."""
    if not 1 <= count <= MAX_HOSTS:
        raise ValueError(f"{count} hosts; accepted: 1 to {MAX_HOSTS}")
    _sweep()
    tag = f"{PREFIX}{os.getpid()}x{next(_count)}"
    subnet = _free_subnet()
    lab = Hosts(tag, Path(tempfile.mkdtemp(prefix=f"{tag}-")), tuple(f"{subnet}.{i + 1}" for i in range(count)))
    try:
        _write_ssh_files(lab)
        _ip("link", "add", tag, "type", "bridge")
        _ip("addr", "add", f"{subnet}.254/24", "dev", tag)
        _ip("link", "set", tag, "up")
        for index in range(count):
            _set_up(lab, index)
        for name in lab.names:
            _wait_for_sshd(lab, name)
        yield lab
    finally:
        _tear_down(tag)


def _missing() -> str | None:
    """The reason why no lab can be created here."""
    programs = {"ip": "iproute2", "sshd": "openssh-server", "ssh": "openssh-client", "unshare": "util-linux"}
    for program, package in programs.items():
        if not shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"):
            return f"needs {program}: apt-get install {package}"
    if os.geteuid() != 0:
        return "needs root, to make network namespaces"
    probe = f"{PREFIX}{os.getpid()}p"
    made = _ip("netns", "add", probe, check=False)
    entered = _ip("netns", "exec", probe, "unshare", "--uts", "hostname", "probe", check=False)
    _ip("netns", "del", probe, check=False)
    for done in (made, entered):
        if done.returncode != 0:
            return f"needs network namespaces, in a container CAP_SYS_ADMIN and CAP_NET_ADMIN: {done.stderr.strip()}"
    return None


def _set_up(lab: Hosts, index: int) -> None:
    """The namespace of a host, its cable to the bridge, and its sshd."""
    namespace, cable, address = _namespace(lab.tag, index), _cable(lab.tag, index), lab.addresses[index]
    (NETNS / namespace / "ssh").mkdir(parents=True)
    (NETNS / namespace / "ssh" / "ssh_config").write_text(lab.ssh_config.read_text())
    known = [f"{address} {name}\n" for address, name in zip(lab.addresses, lab.names, strict=True)]
    (NETNS / namespace / "hosts").write_text("127.0.0.1 localhost\n" + "".join(known))
    _ip("netns", "add", namespace)
    _ip("link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", namespace)
    _ip("link", "set", cable, "master", lab.tag, "up")
    for command in (
        f"addr add {address}/24 dev eth0",
        "link set eth0 up",
        "link set lo up",
        f"route add default via {address.rpartition('.')[0]}.254",
    ):
        _ip("-n", namespace, *command.split())
    sshd = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:/sbin") or "sshd"  # sshd requires its absolute path
    options = [
        f"ListenAddress={address}",
        f"HostKey={lab.folder / 'key'}",
        f"AuthorizedKeysFile={lab.folder / 'key.pub'}",
        *("PidFile=none", "PermitRootLogin=prohibit-password", "UsePAM=no", "StrictModes=no", "MaxStartups=100"),
        # A bash with SHLVL set does not read ~/.bashrc, whose programs are slow and may leave locks
        # behind when their host is lost.
        "SetEnv=SHLVL=1",
    ]
    log = lab.folder / f"sshd_{index}.log"
    start = [sshd, "-f", "/dev/null", "-E", str(log), *(f"-o{option}" for option in options)]
    subprocess.run(lab.inside(index, start), check=True)


def _write_ssh_files(lab: Hosts) -> None:
    """One key, for the user and for every host."""
    Path("/run/sshd").mkdir(exist_ok=True)  # required by sshd
    key = lab.folder / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    own = [f"Host {name}\n  HostName {address}\n" for name, address in zip(lab.names, lab.addresses, strict=True)]
    lines = [
        "Host *",
        "  User root",
        f"  IdentityFile {key}",
        "  IdentitiesOnly yes",
        "  BatchMode yes",
        "  StrictHostKeyChecking no",
        "  UserKnownHostsFile /dev/null",
        "  GlobalKnownHostsFile /dev/null",
        "  LogLevel ERROR",
    ]
    lab.ssh_config.write_text("".join(own) + "\n".join(lines) + "\n")


def _wait_for_sshd(lab: Hosts, name: str) -> None:
    end = time.monotonic() + SSHD_PATIENCE
    said = ""
    while time.monotonic() < end:
        with suppress(subprocess.TimeoutExpired):
            done = subprocess.run(
                ["ssh", "-F", lab.ssh_config, name, "true"],
                check=False,
                capture_output=True,
                text=True,
                timeout=SSHD_PATIENCE / 4,
            )
            if done.returncode == 0:
                return
            said = done.stderr
        time.sleep(0.05)
    logs = "\n".join(log.read_text() for log in lab.folder.glob("sshd_*.log"))
    raise RuntimeError(f"no sshd answers on {name}: {said}{logs}")


def _tear_down(tag: str) -> None:
    """Remove everything of a lab: processes, namespaces, cables, the bridge and files."""
    for namespace in _namespaces():
        if namespace.startswith(f"{tag}n"):
            _kill_all(namespace)
            _ip("netns", "del", namespace)
    for cable in re.findall(rf"^[0-9]+: ({tag}v[0-9]+)@", _ip("-o", "link").stdout, re.MULTILINE):
        _ip("link", "del", cable, check=False)  # those of the namespaces are removed with them
    for bridge in (tag, f"{tag}b"):
        _ip("link", "del", bridge, check=False)  # it does not exist if the setup has failed
    for folder in (*NETNS.glob(f"{tag}n*"), *Path(tempfile.gettempdir()).glob(f"{tag}-*")):
        shutil.rmtree(folder)
    with suppress(OSError):  # it is not empty, or does not exist
        NETNS.rmdir()


def _kill_all(namespace: str) -> None:
    end = time.monotonic() + PATIENCE
    while found := _processes(namespace):
        if time.monotonic() > end:
            raise RuntimeError(f"processes {found} in {namespace} outlive SIGKILL")
        for process in found:
            with suppress(ProcessLookupError):  # it ended meanwhile
                os.kill(process, signal.SIGKILL)
        time.sleep(0.02)


def _processes(namespace: str) -> list[int]:
    return [int(word) for word in _ip("netns", "pids", namespace).stdout.split()]


def _sweep() -> None:
    """Tear down the labs whose processes have ended."""
    bridges = re.findall(rf"^[0-9]+: ({PREFIX}[0-9]+x[0-9]+):", _ip("-o", "link").stdout, re.MULTILINE)
    spaces = [name.rpartition("n")[0] for name in _namespaces() if re.fullmatch(rf"{PREFIX}[0-9]+x[0-9]+n[0-9]+", name)]
    for tag in {*bridges, *spaces}:
        process = tag.removeprefix(PREFIX).partition("x")[0]
        if not Path("/proc", process).exists():
            _tear_down(tag)


def _free_subnet() -> str:
    """The first three numbers of an unused network from 10.64.0.0 to 10.127.255.0."""
    used = _ip("-o", "-4", "addr").stdout
    for number in itertools.count(os.getpid()):
        subnet = f"10.{64 + number // 256 % 64}.{number % 256}"
        if f" {subnet}." not in used:
            return subnet
    raise AssertionError  # itertools.count is infinite


def _namespace(tag: str, index: int) -> str:
    return f"{tag}n{index}"


def _cable(tag: str, index: int) -> str:
    """The end of the cable on the bridge; names of interfaces have at most 15 characters."""
    return f"{tag}v{index}"


def _namespaces() -> list[str]:
    return [line.split()[0] for line in _ip("netns", "list").stdout.splitlines()]


def _ip(*words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(["ip", *words], check=False, capture_output=True, text=True)
    if check and done.returncode != 0:
        raise RuntimeError(f"ip {' '.join(words)}: {done.stderr.strip()}")
    return done


def _tc(namespace: str, *words: str) -> None:
    subprocess.run(["ip", "netns", "exec", namespace, "tc", *words], check=True, capture_output=True)


_reason = _missing()
needs_hosts = pytest.mark.skipif(_reason is not None, reason=_reason or "")
