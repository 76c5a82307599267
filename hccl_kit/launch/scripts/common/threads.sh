# The threads of OpenMP: without the variable, every rank would start one for each core of the host.
# Expects: threads_name, the variable. Needs is_number.

share_cores() { # RANKS on this server: sets threads, for the log; empty if the user has set the variable
    local cores quota='' period='' folder=/sys/fs/cgroup
    threads=''
    [[ -z ${!threads_name:-} ]] || return 0
    cores=$(nproc) && is_number "$cores" 999999 || cores=1
    read -r quota period <"$folder/cpu.max" ||
        { read -r quota <"$folder/cpu/cpu.cfs_quota_us" && read -r period <"$folder/cpu/cpu.cfs_period_us"; } || :
    if is_number "$quota" && is_number "$period" && ((period > 0 && quota / period < cores)); then
        cores=$((quota / period))
    fi
    if is_number "${SLURM_CPUS_ON_NODE:-}" "$cores"; then cores=$SLURM_CPUS_ON_NODE; fi
    cores=$((cores / $1))
    threads=$threads_name=$((cores > 0 ? cores : 1))
    export "${threads?}"
} 2>/dev/null
