# Checks the version of bash, then stops at errors and at unset variables.

case ${BASH_VERSION:-} in
    '' | [1-3].* | 4.[0-2].*) echo "error: this needs bash 4.3 or newer; start it with: bash $0" >&2; exit 2 ;;
esac
set +o posix # if started as sh
set -euo pipefail
unset TMOUT || : # a limit for idle terminals; the shell also takes it for every read without -t, and the job would end
