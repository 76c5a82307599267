#!/usr/bin/env bash
# Sets up .venv, then checks lint, types and shell scripts and runs the tests. Further arguments go to pytest, which runs
# four files at a time, since many tests wait (-n 0: one).
#   ./scripts/test.sh            everything but the longest tests
#   ./scripts/test.sh --long     all tests
#   ./scripts/test.sh --torch    also installs torch and transformers, for the tests that compare with them
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/python_env.sh

extras=all,dev
marks="not long"
while [ $# -gt 0 ]; do
    case $1 in
    --long) marks="" ;;
    --torch) extras=all,dev,bench ;;
    *) break ;;
    esac
    shift
done

# Tests on several hosts, on Slurm, of completion, of pages and of the convolutions in C++ need system programs, and are
# skipped if these cannot be installed.
install_system_programs() {
    local -A packages=([ip]=iproute2 [sshd]=openssh-server [ssh]=openssh-client [slurmd]=slurm-wlm [munged]=munge
        [zsh]=zsh [fish]=fish [chromium]=chromium [c++]=g++)
    local program missing=()
    for program in "${!packages[@]}"; do
        PATH=$PATH:/usr/sbin:/sbin command -v "$program" >/dev/null || missing+=("${packages[$program]}")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    local get=(apt-get -qq -o Acquire::Retries=1 -o Acquire::http::Timeout=20)
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null &&
        show "${get[@]}" update && DEBIAN_FRONTEND=noninteractive show "${get[@]}" install -y \
        --no-install-recommends "${missing[@]}" >/dev/null; then
        return
    fi
    printf 'tests on several hosts, on Slurm, in zsh, fish and chromium, and in C++ are skipped; they need: sudo apt-get install %s\n' "${missing[*]}"
}

install_into_venv "$extras"
export PATH="$PWD/.venv/bin:$PATH"
unset PYTHONDONTWRITEBYTECODE # some thousand processes would compile the package again
install_system_programs
show ruff check .
show ruff format --check .
show mypy
show shellcheck --external-sources scripts/*.sh hccl_kit/launch/scripts/*/*.sh .ci/run
show python -m pytest -n 4 --dist loadfile --no-loadscope-reorder ${marks:+-m "$marks"} "$@"
