"""The fixed text of the launch script that is about several servers: which one is this, what do the others say."""

FIND_SERVER = r"""
# A server is known by its id in the table and by its addresses; `names` has those of each server, `server` is what the
# user says.
addresses_by_ip() { ip -o addr | sed -n 's/.* inet6\{0,1\} \([^/ ]*\).*/\1/p'; }

find_server() { # sets node, the index of this server, and server_name
    local i name here_names
    if [[ -n $server ]]; then
        here_names=("$server")
    else
        read -ra here_names -d '' < <(hostname -I 2>/dev/null || addresses_by_ip) || :
        here_names+=("$HOSTNAME" "${HOSTNAME%%.*}")
    fi
    local -A is_here=()
    for name in "${here_names[@]}"; do is_here[$name]=1; done
    node=''
    for i in "${!names[@]}"; do
        while read -r name; do
            [[ -n $name && -n ${is_here[$name]:-} ]] || continue
            [[ -z $node || $node == "$i" ]] ||
                die "error: this host is both ${servers[node]} and ${servers[i]} of the table" \
                    "  fix: say which one with --server ${servers[i]}"
            node=$i
        done <<<"${names[i]}"
    done
    if [[ -z $node ]]; then
        name="${servers[*]:0:8}"
        ((${#servers[@]} <= 8)) || name+=" and $((${#servers[@]} - 8)) more"
        die "error: this host is no server of the table: it has ${here_names[*]}" "  the table has $name" \
            '  fix: run this script on one of them, or say which one this is with --server ID'
    fi
    server_name=${servers[node]}
}
"""

LINK = r"""
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
    "$python" -I -c "$link_program" "$node" "$master" "$link_port" "$link_port_name" "$table_sha256" \
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
"""

OVER_SSH = r"""
start_over_ssh() { # ARGUMENT ...
    exec "$python" -I -c "$spread_program" "$script" "${#servers[@]}" "${servers[@]}" "${addresses[@]}" \
        ${own_options[@]+"${own_options[@]}"} -- "$@"
}

# Whoever started this script over ssh says a token on standard input, gives signs of life, and passes on messages.
take_lifeline() { # sets lifeline, token and descriptor 7
    read -r -t 60 -n 80 token || :
    [[ $token =~ ^[0-9a-f]{32}$ ]] || die 'error: --lifeline is not for people; start the script with --ssh'
    exec 7>&1
    hold_lifeline <&0 >/dev/null 2>&1 7>&- &
    lifeline=$!
    trap 'kill "$lifeline" 2>/dev/null' EXIT
}

hold_lifeline() {
    local line
    while read -r -t 8 -n 200 line; do
        [[ -z $line ]] || echo "$line" >&8
    done
    echo 'gone -2 129' >&8
    return 129
}
"""
