# Checks that the programs are there, and parses the option of the script.
# Expects: server (from the environment). Needs die.

for tool in grep hostname ip mkdir od python setsid sleep stat tail; do
    command -v "$tool" >/dev/null || die "error: $tool is not on PATH" \
        '  fix: install coreutils, grep, iproute2, Python 3 and util-linux'
done
command -v msrun >/dev/null || die 'error: msrun is not on PATH' \
    '  fix: put the bin folder of the Python that has MindSpore first on PATH'

if [[ ${1:-} == --server ]]; then
    (($# > 1)) || die 'error: --server needs the server_id of this host in the rank table'
    server=$2
    shift 2
fi
[[ ${1:-} != -- ]] || shift
