# Checks that what msrun needs is there. Needs hk_fail.

for hk_name in msrun python pgrep; do
    command -v "$hk_name" >/dev/null || hk_fail "error: $hk_name is not on PATH" \
        '  fix: put the bin folder of the Python that has MindSpore first on PATH; pgrep is in procps'
done
