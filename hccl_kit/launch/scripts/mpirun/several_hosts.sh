# Checks and options of mpirun for a job on several hosts.
# Expects: version (of mpirun), hostfile, options. Needs die.

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

# Variables for the ranks on other hosts. HCCL_IF_IP is an address of this host only.
while read -r name; do
    case $name in
        HCCL_IF_IP | HCCL_KIT_*) ;;
        PATH | LD_LIBRARY_PATH | LD_PRELOAD | PYTHON* | VIRTUAL_ENV | CONDA_* | ASCEND_* | HCCL_* | RDMA_* | MS_* | \
            GLOG_* | OMP_* | TZ | LANG | LC_*) options+=(-x "$name") ;;
    esac
done < <(compgen -e)
