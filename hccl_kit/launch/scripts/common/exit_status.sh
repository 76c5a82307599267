# What the reports on a failed job share.

one_screen=''
[[ ! /dev/fd/1 -ef /dev/fd/2 ]] || one_screen=1 # stdout and stderr go to the same place

exit_status() { # CODE: print "exit code 137 (SIGKILL)"
    local signal=''
    (($1 <= 128)) || signal=$(kill -l "$1" 2>/dev/null) || :
    echo "exit code $1${signal:+ (SIG$signal)}"
}
