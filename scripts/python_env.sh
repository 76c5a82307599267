# shellcheck shell=bash
# Sourced by quickstart.sh and test.sh: creates a virtual environment in .venv with this project. Does not need root.
# PYTHON=/path/to/python3.12 selects the interpreter.

stop() { printf 'error: %s\n' "$1" >&2; [ $# -lt 2 ] || printf '  fix: %s\n' "$2" >&2; exit 2; }

show() { # COMMAND ...: print and run it
    local word line=''
    for word; do
        case $word in *[!A-Za-z0-9_./=,:+-]*) line+=" \"$word\"" ;; *) line+=" $word" ;; esac
    done
    printf '\n$%s\n' "$line"
    "$@"
}

fits() { "$1" -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 12))' 2>/dev/null; }

find_python() {
    local candidate
    for candidate in ${PYTHON:-python3.11 python3.12 python3.10 python3 python}; do
        if command -v "$candidate" >/dev/null && fits "$candidate"; then
            command -v "$candidate"
            return
        fi
    done
    stop "Python 3.10, 3.11 or 3.12 not found (looked for: ${PYTHON:-python3.11 python3.12 python3.10 python3})" \
        "install one (pyenv, conda and uv do not need root), or set its path: PYTHON=/path/to/python3.11 $0"
}

install_into_venv() { # EXTRAS: install the project with these extras, unless they are installed
    local python stamp=".venv/.installed-$1" wanted free
    if [ -e .venv ] && ! fits .venv/bin/python; then
        stop ".venv is not a virtual environment of Python 3.10 to 3.12" "move it away: mv .venv .venv.old"
    fi
    wanted=$(sha256sum pyproject.toml)
    if [ -e "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ]; then
        printf 'using the existing .venv (%s)\n' "$(.venv/bin/python --version)"
        return
    fi
    if [ ! -e .venv ]; then
        python=$(find_python) || exit
        free=$(df -Pk . | awk 'NR == 2 { print int($4 / 1048576) }')
        [ "$free" -ge 5 ] || stop "$free GiB free on this disk; MindSpore and the other packages need 5" "free some space"
        show "$python" -I -m venv .venv || {
            rm -rf .venv
            stop "this Python cannot create virtual environments" \
                "install its venv module (Debian: python3-venv), or use another Python: PYTHON=... $0"
        }
    fi
    show .venv/bin/python -I -m pip install --quiet --disable-pip-version-check --editable ".[$1]" ||
        stop "pip could not install this project with the extras $1" "see the output of pip above; check the network"
    printf '%s\n' "$wanted" >"$stamp"
}
