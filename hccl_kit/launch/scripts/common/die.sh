# Defines die, the exit of a script that cannot start. Its lines may have text from outside.

die() { # LINE ...
    printf '%s\n' "${@//[[:cntrl:]]/?}" >&2
    exit 2
}
