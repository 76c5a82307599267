# What the reports on a failed job share.

one_screen=''
[[ ! /dev/fd/1 -ef /dev/fd/2 ]] || one_screen=1 # stdout and stderr go to the same place

exit_status() { # CODE: print "exit code 137 (SIGKILL)"
    local signal=''
    (($1 <= 128)) || signal=$(kill -l "$1" 2>/dev/null) || :
    echo "exit code $1${signal:+ (SIG$signal)}"
}

last_lines() { # LINES: print the last lines of standard input, at most 16 KiB; "[...] " begins a line that is cut
    local LC_ALL=C most=16384 text
    { text=$(tail -c "$((most + 1))" | tail -n "$1" && echo .) || :; } 2>/dev/null # bash warns about NUL
    text=${text%.}
    ((${#text} <= most)) || text="[...] ${text: -most}"
    [[ -z $text ]] || printf '%s\n' "${text%$'\n'}"
}
