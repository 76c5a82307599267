# Checks and options of mpirun for a job on several hosts.
# Expects: version (of mpirun), hostfile, options. Needs die and select_variables.

exported=''
while [[ ${1:-} == --export || ${1:-} == --export=* ]]; do
    [[ $1 == --export=* ]] || { (($# > 1)) || die 'error: --export needs a value'; set -- "--export=$2" "${@:3}"; }
    exported+=${exported:+,}${1#*=}
    shift
done
[[ ${1:-} != -- ]] || shift

# Open MPI 4 assigns the first ranks to the host that mpirun runs on, if it is in the hostfile.
if [[ $version == *'(Open MPI) 4.'* ]]; then
    here_names=" $(hostname -I) $HOSTNAME ${HOSTNAME%%.*} "
    {
        read -r first _
        while read -r host _; do
            [[ $here_names != *" $host "* || $here_names == *" $first "* ]] ||
                die "error: started on $host, Open MPI 4 would put rank 0 here, not on $first" \
                    "  fix: start this script on $first, or with Open MPI 5"
        done
    } <"$hostfile"
fi

# By default, ssh waits minutes for a host that is down, and prompts for passwords and unknown host keys.
if [[ -z ${OMPI_MCA_plm_rsh_agent:-}${OMPI_MCA_plm_rsh_args:-}${PRTE_MCA_plm_ssh_agent:-}${PRTE_MCA_plm_ssh_args:-} ]]
then
    export OMPI_MCA_plm_rsh_args='-o BatchMode=yes -o ConnectTimeout=10'
    export PRTE_MCA_plm_ssh_args=$OMPI_MCA_plm_rsh_args
fi

select_variables
for name in ${passed[@]+"${passed[@]}"} ${asked[@]+"${asked[@]}"}; do options+=(-x "$name"); done
