# Finds a Python on this host.
# Expects: command.

find_python() { # MINOR: sets python to 3.MINOR or newer, of the command or on PATH; empty if there is none
    local is_new="import sys; sys.exit(sys.version_info < (3, $1))"
    for python in "${command[0]}" python3 python ''; do # python_train.sh is not an interpreter and must not start here
        if [[ ${python##*/} =~ ^python[0-9.]*$ ]] && "$python" -I -c "$is_new" 2>/dev/null; then break; fi
    done
}
