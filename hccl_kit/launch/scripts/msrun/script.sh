# The script for msrun, after its first line. Needs `common/end`.
# A word __NAME__ stands for a text, on a line of its own for lines.

# Starts ranks 0 to __last__ on __where__ with msrun of MindSpore. It is meant to be read and edited.
#   bash __name__ [ARGUMENT ...]     arguments are added to the command
__more__
# Rank N writes hccl_logs/RUN/worker_N.log; the first rank here is shown. The exit code is that of msrun,
# 0: all succeeded, 1: a rank failed; or 2: nothing started, 130: Ctrl-C, 143: SIGTERM, 129: SIGHUP.
# Made from the rank table with sha256 __digest__,
# which the job does not read: under msrun a rank table must not be set.

__begin__
type msrun python pgrep >/dev/null || hk_fail 'error: a program is not on PATH' \
    '  fix: put the bin folder of the Python that has MindSpore first on PATH; pgrep is in procps'
hk_command=(__command__ "$@")
__server__
__run_folder__

# What other launchers have left goes; the cards of the job are those that msrun counts from 0 on.
__environment__

__end__
hk_stop() { # msrun leaves its workers running when it is ended, so they are listed before
    hk_msrun=$! hk_screen=()
    kill -STOP "$hk_msrun" && mapfile -t hk_pids < <(pgrep -P "$hk_msrun") && kill -KILL -- "-$hk_msrun"
    hk_end
} 2>/dev/null
trap hk_stop EXIT
trap 'exit 129' HUP && trap 'exit 130' INT && trap 'exit 143' TERM
echo "scheduler at __master__, port $__port__, logs in $hk_logs"
setsid msrun --worker_num __size__ --local_worker_num "${#hk_cards[@]}" --master_addr __master_word__ \
    --master_port "$__port__" --node_rank "$hk_node" --join True --cluster_time_out __wait__ \
    --log_dir "$hk_logs" --tail_worker_log "__first__" "${hk_command[@]}" &
wait "$!" || {
    hk_code=$?
    echo "error: msrun failed with exit code $hk_code; logs in $hk_logs" >&2
    exit "$hk_code"
}
