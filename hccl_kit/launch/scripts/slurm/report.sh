# Reports why the ranks ended.
# Expects: logs. Needs is_number and the fragment exit_status.

conclude() { # CODE SIGNAL: returns the exit code of the job
    local code=$1 rank='' earliest='' own_code='' device='' host=''
    if [[ -s $logs/refused ]]; then
        cat -- "$logs/refused" >&2
        return 2
    elif [[ -n $2 ]]; then
        echo "ended by SIG$2; logs in $logs" >&2
        return "$((128 + $(kill -l "$2")))"
    elif rank=$(failed_rank); then
        ! read_end "$rank" || code=$own_code # the disk may be full
        # A rank that fails first may exit later than another; its error file has the time.
        ((code > 128)) || earliest=$(first_error) || :
        if is_number "$earliest" && read_end "$earliest"; then
            rank=$earliest
            ((own_code > 128)) || code=$own_code # otherwise it was ended with the job
        fi
        {
            echo "error: rank $rank on device $device of $host failed with $(exit_status "$code")"
            if [[ $rank == 0 && -s $logs/rank_0.log && -n $one_screen ]]; then # shown while it was written
                echo "  its last lines are above, and in $logs/rank_$rank.log"
            else
                echo "  the end of $logs/rank_$rank.log:"
                last_lines 20 <"$logs/rank_$rank.log" || :
            fi
        } >&2
    elif ((code != 0)); then
        echo "error: srun ended with exit code $code; its messages are above, logs in $logs" >&2
    fi
    return "$code"
}

failed_rank() { # print the rank that noted its failure first
    local rank
    [[ -f $logs/failed ]] && read -r -n 11 rank <"$logs/failed" && is_number "$rank" && echo "$rank"
}

read_end() { # RANK: sets own_code, device and host, as the task of the rank has noted them
    local line
    [[ -f $logs/end_$1 ]] && read -r -n 300 line <"$logs/end_$1" || return 1
    [[ $line =~ ^(0|[1-9][0-9]{0,2})\ ([0-9]{1,9})\ ([[:alnum:]._-]+)$ && ${BASH_REMATCH[1]} -le 255 ]] || return 1
    own_code=${BASH_REMATCH[1]} device=${BASH_REMATCH[2]} host=${BASH_REMATCH[3]}
}

first_error() { # print the rank with the earliest error_RANK.json, if there is one
    (cd -- "$logs" && grep -H -D skip '^ "time": ' error_*.json) 2>/dev/null |
        sed 's/^error_\([0-9]*\)\.json: "time": /\1 /' | LC_ALL=C sort -n -k 2 | sed -n '1s/ .*//p'
}
