# Parses the options of the script; what is left in "$@" are arguments for the command.
# Expects: server (from the environment), spares. Needs die and is_number.

help() { # the comment at the top of this file
    local line
    while read -r line && [[ $line == '#'* ]]; do
        [[ $line == '#!'* ]] || echo "${line:2}"
    done <"${BASH_SOURCE[0]}"
    exit 0
}

max_restarts=0 heartbeat=0 log_limit=1024 shown=first lifeline='' over_ssh='' run='' own_options=()
preflight='' replaced=() exported='' expected_sha256='' first_attempt=0
while (($# > 0)); do
    case $1 in
        --replace=*) ((${#spares[@]} > 0)) || break ;;&
        --server=* | --max-restarts=* | --heartbeat-timeout=* | --log-limit=* | --export=* | --replace=*)
            set -- "${1%%=*}" "${1#*=}" "${@:2}" ;;
    esac
    given=("$1")
    case $1 in
        --preflight | --replace | --attempt | --table-sha256) # without spares, they are arguments for the command
            ((${#spares[@]} > 0)) || break ;;&
        --server | --max-restarts | --heartbeat-timeout | --log-limit | --export | --run | --replace | --attempt | \
            --table-sha256)
            (($# > 1)) || die "error: $1 needs a value"
            given+=("$2") ;;&
        --max-restarts | --heartbeat-timeout | --log-limit | --attempt)
            is_number "$2" 9999999 || die "error: $1 is '$2'; accepted: a number from 0 to 9999999" ;;&
        --server) server=$2 ;;
        --run) run=$2 ;; # with --lifeline, from the script on another server that was started with --ssh
        --lifeline) lifeline=1 ;;
        --attempt) first_attempt=$2 ;; # this and the next one too
        --table-sha256)
            # shellcheck disable=SC2034  # for take_spares
            expected_sha256=$2 ;;
        --max-restarts) max_restarts=$2 ;;
        --heartbeat-timeout) heartbeat=$2 ;;
        --log-limit) log_limit=$2 ;;
        --prefix) shown=all ;;
        --preflight) preflight=1 && shift && continue ;; # --ssh passes these two on by itself
        --replace) replaced+=("$2") && shift 2 && continue ;;
        --ssh) over_ssh=1 && shift && continue ;;
        --export) exported+=${exported:+,}$2 && shift 2 && continue ;;
        -h | --help) help ;;
        --) shift && break ;;
        *) break ;;
    esac
    own_options+=("${given[@]}")
    shift "${#given[@]}"
done
[[ -z $run || $run =~ ^[0-9]{1,20}(-[0-9]{1,20})+$ ]] || die "error: --run is '$run', which is not the name of a run"
[[ -z $exported || -n $over_ssh ]] || die 'error: --export is for --ssh; otherwise ranks get all variables of this shell' \
    '  fix: leave it out, or put -- before the arguments of the command'
