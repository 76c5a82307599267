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
