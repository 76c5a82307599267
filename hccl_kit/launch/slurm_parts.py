"""The fixed text of the batch script for Slurm: the job, which runs on its first node, and a task, which is one rank.

It uses shell variables only (`command`, `servers`, `names`, `all_ranks`, `all_devices`, `table`, `port`, `logs`), which
the sections of `slurm` set, and the variables of Slurm.
"""

CHECK_TABLE = r"""
die() { # LINE ...
    printf '%s\n' "$@" >&2
    exit 2
}

# The shell evaluates what stands in ((...)), after -eq or in an index: a[$(id)] would run id, and 08 is an error. So
# text from elsewhere is a number of this form before it gets there.
is_number() {
    [[ $1 =~ ^(0|[1-9][0-9]{0,9})$ ]]
}

# Slurm runs a copy of this script, and the table lies beside the script itself.
find_table() { # sets table, symbolic links resolved: torch_npu passes over a table that is one
    local folder script folders=("$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")
    script=$(squeue --noheader --jobs="$SLURM_JOB_ID" --format=%o 2>/dev/null) || script=''
    until [[ -f $script || $script != *' '* ]]; do script=${script% *}; done # arguments come after it
    [[ $script != */* ]] || folders+=("${script%/*}")
    folders+=("${SLURM_SUBMIT_DIR:-$PWD}")
    for folder in "${folders[@]}"; do
        table=$(readlink -f -- "$folder/$table_name") || continue
        [[ ! -f $table ]] || return 0
    done
    die "error: no rank table $table_name, looked for in ${folders[*]}" \
        '  fix: put it back beside this script, on a disk that all nodes share'
}

check_table() { # HOW_TO_END where it is another one. HCCL takes the first ".json" of a path for its end
    local found here=${SLURMD_NODENAME:-$HOSTNAME}
    [[ ${table%%.json*}.json == "$table" ]] || "$1" "error: HCCL cannot read $table" '  fix: .json may only be its end'
    found=$(sha256sum <"$table") ||
        "$1" "error: node $here cannot read $table" '  fix: put it on a disk that all nodes share'
    [[ ${found%% *} == "$table_sha256" ]] || "$1" \
        "error: this script was made for another rank table than $table on node $here" \
        "  expected sha256 $table_sha256" "  found    sha256 ${found%% *}" \
        '  fix: put the old table back, or write table and script anew with hccl-kit launch'
}
"""

JOB = r"""
# Every task runs this script again, from its copy in the log folder.
# shellcheck disable=SC2016  # for the shell of the task
start_task='[[ -r $0 ]] || {
    echo "error: node $SLURMD_NODENAME does not see $0; start the job in a folder that all nodes share" >&2
    exit 2
}
exec bash -- "$0" "$@"'

job() { # ARGUMENT ...
    [[ -n ${SLURM_JOB_ID:-} ]] || die 'error: this is no job of Slurm' "  fix: sbatch $0"
    [[ ${SLURM_JOB_NUM_NODES:-} == "${#servers[@]}" ]] ||
        die "error: the job has ${SLURM_JOB_NUM_NODES:-0} nodes, the table has ${#servers[@]} servers" \
            "  fix: leave out --nodes, or ask for ${#servers[@]}"
    is_number "$SLURM_JOB_ID" || die "error: SLURM_JOB_ID is not a number: $(printf '%.80q' "$SLURM_JOB_ID")"
    find_table
    check_table die
    port=${!port_name:-$((20000 + SLURM_JOB_ID % 12000))} # from 32768 on the system hands ports out by itself
    [[ $port =~ ^[1-9][0-9]{0,4}$ && $port -le 65535 ]] ||
        die "error: $port_name=$port is no port, 1 to 65535" "  fix: unset $port_name, and the job's number makes one"
    restart=${SLURM_RESTART_COUNT:-0}
    is_number "$restart" || die "error: SLURM_RESTART_COUNT is not a number: $(printf '%.80q' "$restart")"
    logs=$PWD/hccl_logs/$run
    ((restart == 0)) || logs+=/restart_$restart
    { mkdir -p -- "$logs" && cp -- "${BASH_SOURCE[0]}" "$logs/job.sh" && : >>"$logs/rank_0.log"; } ||
        die "error: cannot write into the log folder $logs"
    rm -f -- "$logs"/{refused,failed} "$logs"/{node,end,error,step}_* # of an earlier start in the same allocation
    ln -sfn -- "$run" hccl_logs/latest 2>/dev/null || :
    job_environment
    run_tasks "$@"
}

run_tasks() { # ARGUMENT ...
    local code=0 ended='' srun screen
    # All is exported, whatever sbatch --export says. srun alone does not hear of --cpus-per-task. With WaitTime, it
    # would end the job some seconds after the first rank that is done.
    local options=(--ntasks=$((${#servers[@]} * tasks)) --ntasks-per-node="$tasks" --kill-on-bad-exit=1 --label --wait=0
        --export=ALL --mpi=none --cpu-bind=none ${SLURM_CPUS_PER_TASK:+"--cpus-per-task=$SLURM_CPUS_PER_TASK"})
    echo "$(date '+%F %T') job $SLURM_JOB_ID on ${SLURM_JOB_NODELIST:-}, port $port, logs in $logs"
    srun "${options[@]}" bash -c "$start_task" "$logs/job.sh" "$table" "$@" &
    srun=$!
    trap 'pass_on HUP 129' HUP
    trap 'pass_on INT 130' INT
    trap 'pass_on TERM 143' TERM
    (trap '' HUP INT TERM && exec tail -n +1 -f -s 0.2 --pid="$srun" -- "$logs/rank_0.log") &
    screen=$!
    wait "$srun" || code=$?
    while kill -0 "$srun" 2>/dev/null; do # a signal ended the waiting
        code=0
        wait "$srun" || code=$?
    done
    wait "$screen" || :
    conclude "$code" "$ended"
}

# srun would kill the ranks; Slurm's own signal leaves them the time that is left.
# shellcheck disable=SC2329  # called by traps
pass_on() { # SIGNAL CODE
    local step=''
    ended="$1 $2"
    read -r _ step <"$logs/node_0" || :
    { is_number "$step" && scancel --signal="$1" "$SLURM_JOB_ID.$step"; } || kill -s TERM "$srun" || :
} 2>/dev/null
"""

END = r"""
conclude() { # CODE ENDED: exit with the code of the job; what its end came from is said last
    local code=$1 rank='' earliest='' own_code='' device='' host='' signal=''
    if [[ -s $logs/refused ]]; then
        cat -- "$logs/refused" >&2
        exit 2
    elif [[ -n $2 ]]; then
        echo "ended by SIG${2% *}; logs in $logs" >&2
        exit "${2#* }"
    elif rank=$(failed_rank); then
        ! read_end "$rank" || code=$own_code # the disk may be full
        # Of ranks that fail by themselves, the one that wrote its error down first may be slower to end.
        ((code > 128)) || earliest=$(first_error) || :
        if is_number "$earliest" && read_end "$earliest"; then
            rank=$earliest
            ((own_code > 128)) || code=$own_code # else it was ended with the job
        fi
        ((code <= 128)) || signal=$(kill -l "$code" 2>/dev/null) || :
        {
            echo "error: rank $rank on device $device of $host failed with exit code $code${signal:+ (SIG$signal)}"
            if [[ $rank == 0 && -s $logs/rank_0.log && /dev/fd/3 -ef /dev/fd/2 ]]; then # shown as it was written
                echo "  its last lines are above, and in $logs/rank_$rank.log"
            else
                echo "  the end of $logs/rank_$rank.log:"
                tail -n 20 -- "$logs/rank_$rank.log"
            fi
        } 3>&1 >&2
    elif ((code != 0)); then
        echo "error: srun ended with exit code $code; what it said stands above, logs in $logs" >&2
    fi
    exit "$code"
}

failed_rank() { # print the rank that noted its failure first
    local rank
    [[ -f $logs/failed ]] && read -r -n 11 rank <"$logs/failed" && is_number "$rank" && echo "$rank"
}

read_end() { # RANK: sets own_code, device and host, as the task of a rank has noted them
    local line
    [[ -f $logs/end_$1 ]] && read -r -n 300 line <"$logs/end_$1" || return 1
    [[ $line =~ ^(0|[1-9][0-9]{0,2})\ ([0-9]{1,9})\ ([[:alnum:]._-]+)$ && ${BASH_REMATCH[1]} -le 255 ]] || return 1
    own_code=${BASH_REMATCH[1]} device=${BASH_REMATCH[2]} host=${BASH_REMATCH[3]}
}

first_error() { # the rank with the earliest error_RANK.json, if there is one
    (cd -- "$logs" && grep -H -D skip '^ "time": ' error_*.json) 2>/dev/null |
        sed 's/^error_\([0-9]*\)\.json: "time": /\1 /' | LC_ALL=C sort -n -k 2 | sed -n '1s/ .*//p'
}
"""

FIND_SERVER = r"""
# The first task that cannot start says why; the job shows it last.
refuse() { # LINE ...
    (set -C && printf '%s\n' "$@" >"$logs/refused") 2>/dev/null || [[ -s $logs/refused ]] || printf '%s\n' "$@" >&2
    exit 2
}

own_addresses() {
    hostname -I 2>/dev/null || ip -o addr 2>/dev/null | sed -n 's/.* inet6\{0,1\} \([^/ ]*\).*/\1/p'
}

find_server() { # sets node, the index of the server that this node is
    local i name own=() known="${servers[*]:0:8}"
    ((${#servers[@]} <= 8)) || known+=" and $((${#servers[@]} - 8)) more"
    node=''
    for i in "${!servers[@]}"; do
        [[ ${servers[i]} != "${server:-$SLURMD_NODENAME}" ]] || node=$i
    done
    [[ -z $server || -n $node ]] || refuse "error: $server_name=$server on node $SLURMD_NODENAME; the table has $known"
    if [[ -z $node ]]; then
        read -ra own -d '' < <(own_addresses) || :
        own+=("$HOSTNAME" "${HOSTNAME%%.*}" "$SLURMD_NODENAME")
        local -A is_own=([127.0.0.1]=1 [::1]=1)
        for name in "${own[@]}"; do is_own[$name]=1; done
        for i in "${!names[@]}"; do
            while read -r name; do
                [[ -n $name && -n ${is_own[$name]:-} ]] || continue
                [[ -z $node || $node == "$i" ]] ||
                    refuse "error: node $SLURMD_NODENAME is both ${servers[node]} and ${servers[i]} of the table" \
                        "  fix: set $server_name on it to the one that it is"
                node=$i
            done <<<"${names[i]}"
        done
    fi
    [[ -n $node ]] || refuse \
        "error: node $SLURMD_NODENAME (${own[*]}) is no server of the table, which has $known" \
        "  fix: ask for its nodes, sbatch --nodelist=..., or set $server_name to the server that this node is"
}

claim_server() { # a server is one node: where two take themselves for the same, its ranks would run twice
    local other=''
    (set -C && echo "$SLURMD_NODENAME $SLURM_STEP_ID" >"$logs/node_$node") 2>/dev/null && return
    read -r other _ <"$logs/node_$node" || :
    [[ -z $other || $other == "$SLURMD_NODENAME" ]] || refuse \
        "error: nodes $other and $SLURMD_NODENAME both take themselves for server ${servers[node]} of the table" \
        "  fix: set $server_name on each to the server that it is; set for the whole job, it fits one node only"
}
"""

TASK = r"""
task() { # TABLE ARGUMENT ...
    local rank device code=0 ranks devices
    HOSTNAME=$(uname -n) # srun hands on that of the first node
    table=$1
    logs=$(dirname -- "${BASH_SOURCE[0]}")
    shift
    find_server
    read -ra ranks <<<"${all_ranks[node]}"
    read -ra devices <<<"${all_devices[node]}"
    is_number "${SLURM_LOCALID:-}" ||
        refuse "error: SLURM_LOCALID is not a number: $(printf '%.80q' "${SLURM_LOCALID:-}")"
    ((SLURM_LOCALID < ${#ranks[@]})) || exit 0 # another node has more cards
    rank=${ranks[SLURM_LOCALID]} device=${devices[SLURM_LOCALID]}
    ((SLURM_LOCALID > 0)) || claim_server
    check_table refuse
    rank_environment
    # A signal of Slurm reaches the rank as well, which is the one to answer it.
    trap : HUP INT QUIT TERM USR1 USR2
    { "${command[@]}" "$@" >>"$logs/rank_$rank.log" 2>&1 || code=$?; } 2>/dev/null # bash says what killed it
    if ((code != 0)); then
        echo "$code $device $HOSTNAME" >"$logs/end_$rank" || :
        (set -C && echo "$rank" >"$logs/failed") 2>/dev/null || :
    fi
    exit "$code"
}
"""
