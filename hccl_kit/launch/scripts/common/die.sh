# Defines die, the exit of a script that cannot start.

die() { # LINE ...
    printf '%s\n' "$@" >&2
    exit 2
}
