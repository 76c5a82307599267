# Events of the job: lines that ranks, watch and rendezvous write to descriptor 8 and the script reads.
# Expects: servers. Needs is_number.

# Nothing writes to descriptor 6, so this needs no process that could outlive the script.
idle() { # SECONDS
    read -r -t "$1" -u 6 || :
}

# A pipe, because the disk may be full. Lines are written at once; read -t would cut one on a busy machine.
next_event() { # TWENTIETHS of a second to wait; sets kind, rank, code and where, the id of a server
    local i event
    for ((i = 0; ; i++)); do
        if read -r -t 0 -u 8 && IFS= read -r -u 8 event; then
            read -r kind rank code where <<<"$event"
            is_event && return
            kind='' rank='' code='' where=''
            printf 'error: unexpected message to the launch script: %.200q\n' "$event" >&2
        fi
        ((i < $1)) || return 1
        sleep 0.05
    done
}

is_event() { # whether kind, rank, code and where are a valid event
    case $kind in
        done) [[ -z $rank$code$where ]] ;;
        start) [[ $rank =~ ^[0-9]{1,20}(-[0-9]{1,20})+$ && -z $where ]] && is_number "$code" 65535 ;;
        over)
            is_failure && is_number "$where" $((${#servers[@]} - 1)) || return 1
            where=${servers[where]} ;;
        rank | hang | gone | guard) [[ -z $where ]] && is_failure ;;
        *) return 1 ;;
    esac
}

is_failure() {
    { [[ $rank =~ ^-[1-3]$ ]] || is_number "$rank" 999999999; } && is_number "$code" 255
}
