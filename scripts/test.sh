#!/usr/bin/env bash
# Sets up .venv with all it needs, then: lint, types, shell scripts, tests. Further arguments go to pytest.
#   ./scripts/test.sh            everything but the longest tests
#   ./scripts/test.sh --long     those too
#   ./scripts/test.sh --torch    installs torch as well, for the test of a torch program under our script
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

install_into_venv "$extras"
export PATH="$PWD/.venv/bin:$PATH"
show ruff check .
show ruff format --check .
show mypy
show shellcheck --external-sources scripts/*.sh .ci/run
show python -m pytest ${marks:+-m "$marks"} "$@"
