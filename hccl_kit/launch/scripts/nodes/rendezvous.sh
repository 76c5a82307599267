need_python() {
    [[ -n $python ]] || die "error: no python 3.8 or newer is on PATH; a job of several servers needs one" \
        '  fix: install one, or name the one of the command by its path'
}

# The nodes talk by the link, a program that hears this script on descriptor 7 and answers on descriptor 8. A script
# that was started over ssh talks to its starter instead, which hears what has the token in front among all output.
start_link() {
    local patience=600
    ((attempt == 0)) || patience=60
    [[ $link_port =~ ^[1-9][0-9]{0,4}$ && $link_port -le 65535 ]] || die "error: $link_port_name=$link_port is no port"
    exec 7<> <(:)
    "$python" -I -c "$rendezvous_program" "$node" "$master" "$link_port" "$link_port_name" "$table_sha256" \
        "$patience" "$run" "$port" "$secret_file" "${servers[@]}" <&7 >&8 9>&- &
    link=$!
}

# Where the nodes do not come together to start again, the exit code is that of the failure before.
meet() { # the nodes come together, and agree on what node 0 says: the run and the port, which is 0 to give up
    local kind rank code where
    port=0
    ((node > 0)) || [[ -n $given_up ]] || choose_port
    [[ -n $run ]] || printf -v run '%(%Y%m%d-%H%M%S)T-%s' -1 "$$"
    if [[ -n $token ]]; then tell "here $run $port"; else start_link; fi
    until next_note 4; do
        kill -0 "${link:-$lifeline}" 2>/dev/null || { wait "${link:-$lifeline}" || exit "${last_code:-$?}"; }
    done
    case $kind in
        start)
            run=$rank port=$code
            ((port > 0 || node == 0)) || [[ -n $lifeline ]] || echo "given up: so says server ${servers[0]}" >&2 ;;
        gone) quit HUP 129 ;;
        *)
            [[ -n $lifeline ]] || echo "error: server $where failed before the job began" >&2
            exit "${last_code:-$code}" ;;
    esac
}

tell() { # WORDS: to the other nodes; where nobody hears it any more, that is noticed elsewhere
    [[ -z $link$token ]] || (trap '' PIPE && echo "${token:+$token }$1" >&7) 2>/dev/null || :
}

judged() { # [TWENTIETHS of a second]: wait for what became of the job; 1 where it failed, with judged_rank and so on
    local kind rank code where is_there=1 left=${1:--1}
    judged_rank=-1 judged_code=255 judged_where=${servers[0]}
    while ((is_there && left != 0)); do
        left=$((left - 1))
        kill -0 "${link:-$lifeline}" 2>/dev/null || is_there=0
        while next_note 1; do
            case $kind in
                done) return 0 ;;
                over)
                    judged_rank=$rank judged_code=$code judged_where=$where
                    return 1 ;;
            esac
        done
    done
    ((${1:--1} > 0)) # no word is no verdict
}

describe_other() { # RANK CODE SERVER: what ended the job on another server
    echo
    case $1 in
        -1) echo "ended: server $3 was lost; logs of this server in $logs" ;;
        -2) echo "ended: the script on server $3 ended with exit code $2; logs of this server in $logs" ;;
        -3) echo "ended: a rank on server $3 was lost, exit code $2; logs of this server in $logs" ;;
        *) echo "ended: rank $1 on server $3 failed with exit code $2; its log is there" ;;
    esac
}
