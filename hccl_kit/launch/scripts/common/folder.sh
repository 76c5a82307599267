# The folder of a run, and whether it is safe there: see `payload/run_folder`, which has the same rule and messages.
# Needs die.

[[ $PWD != *[[:cntrl:]]* ]] || # messages name it
    die "error: the name of the folder has control characters: $PWD" '  fix: start in another folder'

trust_folders() { # ends the script if other users may replace the logs of a job; a note if only some may
    local owner logs=$PWD/hccl_logs
    trust_folder "$PWD"
    [[ $owner == 0 || $owner == "$EUID" ]] ||
        echo "note: the folder $PWD belongs to user $owner, who may replace the files of this job" >&2
    [[ -e $logs || -L $logs ]] || return 0
    if ! is_own -- "$logs" || { [[ -e $logs ]] && ! is_own -L -- "$logs"; }; then # it may be a link
        die "error: the folder $logs belongs to another user, who may replace the logs of a job" \
            '  fix: start in a folder of your own'
    fi
    [[ ! -d $logs ]] || trust_folder "$logs"
}

trust_folder() { # FOLDER: sets owner. Who may write to a folder that is not sticky may replace what is in it
    local mode group
    read -r mode owner group < <(stat -L -c '%a %u %g' -- "$1") || die "error: cannot examine the folder $1"
    mode=$((8#$mode))
    ((mode & 8#1000)) && return
    ((!(mode & 8#2))) || die "error: every user may write to the folder $1, and replace the logs of a job" \
        "  fix: chmod o-w $1, or start in a folder of your own"
    ((!(mode & 8#20) || group == EUID)) || # a group of one user has the number of the user
        echo "note: group $group may write to the folder $1, and replace the files of this job" >&2
}

# The owner of the current folder counts too, about whom there is a note: on a network disk, root may be another user.
is_own() { # PATH: whether it belongs to this user
    local owner
    owner=$(stat -c %u "$@") && [[ $owner == 0 || $owner == "$EUID" || $owner == "$(stat -L -c %u -- "$PWD")" ]]
} 2>/dev/null

make_log_folder() {
    [[ -d hccl_logs ]] || mkdir -m 700 -- hccl_logs 2>/dev/null || [[ -d hccl_logs ]] ||
        die "error: cannot create the log folder $PWD/hccl_logs"
}

# Only mkdir decides whether a name is free.
new_run() { # NAME: makes the folder of a run; sets run to NAME, or to NAME-2, ... if there is such a folder
    local number=1
    run=$1
    make_log_folder
    until mkdir -m 700 -- "hccl_logs/$run" 2>/dev/null; do
        [[ -e hccl_logs/$run || -L hccl_logs/$run ]] || die "error: cannot create the log folder $PWD/hccl_logs/$run"
        number=$((number + 1))
        run=$1-$number
    done
}

join_run() { # FOLDER: makes it, unless the script of another server has, on the same disk
    mkdir -m 700 -- "$1" 2>/dev/null || { [[ -d $1 && ! -L $1 ]] && is_own -- "$1"; } ||
        die "error: cannot create the log folder $1"
}

link_latest() { # to the run
    if [[ -e hccl_logs/latest && ! -L hccl_logs/latest ]]; then
        echo 'note: hccl_logs/latest is not a symbolic link, so it is not changed' >&2
    else
        ln -sfnT -- "$run" hccl_logs/latest 2>/dev/null || :
    fi
}

name_run() { # sets run to a name of its own; process ids are no such thing, they repeat in containers
    local number
    number=$(od -A n -N 4 -t u4 /dev/urandom) || number=$$
    printf -v run '%(%Y%m%d-%H%M%S)T-%s' -1 "${number//[!0-9]/}"
}
