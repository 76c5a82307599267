# The servers of a job start together and agree on its result.
# Expects: servers, node, master, table_sha256, secret_file, rendezvous_port, rendezvous_port_name and
# rendezvous_program; token and lifeline, which are empty unless this script was started over ssh.

need_python() {
    [[ -n $python ]] || die "error: Python 3.8 or newer not found on PATH; jobs on several servers need it" \
        '  fix: install it, or start the command with the path of one'
}

# The rendezvous program reads from this script on descriptor 7 and answers on descriptor 8. A script that was started
# over ssh sends the same lines to its starter, in its output and marked with the token.
start_rendezvous() {
    local timeout=600
    ((attempt == 0)) || timeout=60
    is_port "$rendezvous_port" ||
        die "error: $rendezvous_port_name=$rendezvous_port is not a port number (1 to 65535)"
    exec 7<> <(:)
    "$python" -I -c "$rendezvous_program" "$node" "$master" "$rendezvous_port" "$rendezvous_port_name" "$table_sha256" \
        "$timeout" "$run" "$port" "$secret_file" "${servers[@]}" <&7 >&8 9>&- &
    rendezvous=$!
}

# If the servers do not come together for a restart, the exit code is that of the failure before.
join_servers() { # wait for all servers; sets run and port as the first server has them, port 0 if it gives up
    local kind rank code where
    port=0
    ((node > 0)) || [[ -n $gives_up ]] || choose_port
    [[ -n $run ]] || name_run
    if [[ -n $token ]]; then send "here $run $port"; else start_rendezvous; fi
    until next_event 4; do
        kill -0 "${rendezvous:-$lifeline}" 2>/dev/null || {
            wait "${rendezvous:-$lifeline}" || exit "${last_code:-$?}"
        }
    done
    case $kind in
        start)
            run=$rank port=$code
            ((port > 0 || node == 0)) || [[ -n $lifeline ]] || echo "server ${servers[0]} gave up restarting" >&2 ;;
        gone) quit HUP 129 ;;
        *)
            [[ -n $lifeline ]] || echo "error: server $where failed before the job started" >&2
            exit "${last_code:-$code}" ;;
    esac
}

send() { # WORDS: to the other servers; a broken connection is detected elsewhere
    [[ -z $rendezvous$token ]] || (trap '' PIPE && echo "${token:+$token }$1" >&7) 2>/dev/null || :
}

wait_for_result() { # [TWENTIETHS of a second]: returns 1 if the job failed, and sets result_rank, _code and _server
    local kind rank code where is_there=1 left=${1:--1}
    result_rank=-1 result_code=255 result_server=${servers[0]}
    while ((is_there && left != 0)); do
        left=$((left - 1))
        kill -0 "${rendezvous:-$lifeline}" 2>/dev/null || is_there=0
        while next_event 1; do
            case $kind in
                done) return 0 ;;
                over)
                    result_rank=$rank result_code=$code result_server=$where
                    return 1 ;;
            esac
        done
    done
    ((${1:--1} > 0)) # without an answer in time, the result of this server stands
}

describe_other() { # RANK CODE SERVER: why the job ended on another server
    echo
    case $1 in
        -1) echo "ended: server $3 was lost; logs of this server in $logs" ;;
        -2) echo "ended: the script on server $3 ended with exit code $2; logs of this server in $logs" ;;
        -3) echo "ended: a rank on server $3 was lost, exit code $2; logs of this server in $logs" ;;
        *) echo "ended: rank $1 on server $3 failed with exit code $2; its log is there" ;;
    esac
}
