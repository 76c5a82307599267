die() { # LINE ...
    printf '%s\n' "$@" >&2
    exit 2
}

help() { # the comment at the top of this file
    local line
    while read -r line && [[ $line == '#'* ]]; do
        [[ $line == '#!'* ]] || echo "${line:2}"
    done <"${BASH_SOURCE[0]}"
    exit 0
}

number() { # OPTION VALUE
    [[ $2 =~ ^(0|[1-9][0-9]{0,6})$ ]] || die "error: $1 is '$2'; accepted: a number from 0 to 9999999"
}

one_screen=''
[[ ! /dev/fd/1 -ef /dev/fd/2 ]] || one_screen=1 # what goes to stdout and to stderr is read in one place
max_restarts=0 heartbeat=0 log_limit=1024 shown=first lifeline='' over_ssh='' run='' own_options=()
while (($# > 0)); do
    given=("$1")
    case $1 in
        --server | --max-restarts | --heartbeat-timeout | --log-limit | --run)
            (($# > 1)) || die "error: $1 needs a value"
            given+=("$2") ;;&
        --max-restarts | --heartbeat-timeout | --log-limit) number "$1" "$2" ;;&
        --server) server=$2 ;;
        --run) run=$2 ;; # with --lifeline, from the script on another server that was started with --ssh
        --lifeline) lifeline=1 ;;
        --max-restarts) max_restarts=$2 ;;
        --heartbeat-timeout) heartbeat=$2 ;;
        --log-limit) log_limit=$2 ;;
        --prefix) shown=all ;;
        --ssh) over_ssh=1 && shift && continue ;;
        -h | --help) help ;;
        --) shift && break ;;
        *) break ;;
    esac
    own_options+=("${given[@]}")
    shift "${#given[@]}"
done
[[ -z $run || $run =~ ^[0-9]{1,20}(-[0-9]{1,20})+$ ]] || die "error: --run is '$run', which names no run"
