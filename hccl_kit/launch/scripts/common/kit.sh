# Finds hccl-kit.
# Expects: kit_program. Needs find_python.

# An empty part of PYTHONPATH is the current folder, where another user may have put a module; so the kit gets none.
find_kit() { # sets kit to the command of hccl-kit; fails if there is none
    local part kept=''
    while IFS= read -r -d : part; do [[ $part != /* ]] || kept+=${kept:+:}$part; done <<<"${PYTHONPATH:-}:"
    kit=(env "PYTHONPATH=$kept" hccl-kit)
    ! command -v hccl-kit >/dev/null || return 0
    find_python 10
    kit=("${python:-python3}" -I -c "$kit_program" hccl_kit)
    [[ -n $python ]]
}
