# Open MPI 4 gives the first ranks to the host that mpirun runs on, if that is one of the hosts.
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

# ssh alone waits minutes for a host that is down, and asks a person for what it does not know.
if [[ -z ${OMPI_MCA_plm_rsh_agent:-}${OMPI_MCA_plm_rsh_args:-}${PRTE_MCA_plm_ssh_agent:-}${PRTE_MCA_plm_ssh_args:-} ]]
then
    export OMPI_MCA_plm_rsh_args='-o BatchMode=yes -o ConnectTimeout=10'
    export PRTE_MCA_plm_ssh_args=$OMPI_MCA_plm_rsh_args
fi

# What the ranks of other hosts take over from here. HCCL_IF_IP is an address of this host alone.
while read -r name; do
    case $name in
        HCCL_IF_IP | HCCL_KIT_*) ;;
        PATH | LD_LIBRARY_PATH | LD_PRELOAD | PYTHON* | VIRTUAL_ENV | CONDA_* | ASCEND_* | HCCL_* | RDMA_* | MS_* | \
            GLOG_* | OMP_* | TZ | LANG | LC_*) options+=(-x "$name") ;;
    esac
done < <(compgen -e)
