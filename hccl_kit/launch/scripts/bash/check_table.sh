# Checks that the programs and the rank table are there; sets script (its path) and table.
# Expects: table_name, table_sha256, over_ssh. Needs trust_folders.

for tool in cp env grep ln mkdir od readlink sed setsid sha256sum sleep stat tail touch; do
    command -v "$tool" >/dev/null || die "error: $tool is not on PATH" \
        '  fix: install coreutils, grep, sed and util-linux'
done

[[ -n $over_ssh ]] || trust_folders # the program that connects does it too

# The table is in the folder of this script, so the two can be moved together. Symbolic links are resolved: torch_npu
# ignores a table that is one. HCCL cuts the path at its first ".json".
script=$(readlink -f -- "${BASH_SOURCE[0]}")
here=${script%/*}
table=$(readlink -f -- "$here/$table_name") || table=$here/$table_name
[[ -f $table && -r $table ]] || die "error: cannot read the rank table $table" '  fix: put it next to this script'
[[ ${table%%.json*}.json == "$table" ]] || die "error: HCCL cannot read $table" '  fix: use .json only at its end'
found=$(sha256sum <"$table")
[[ ${found%% *} == "$table_sha256" ]] || die "error: this script was generated for another rank table than $table" \
    "  expected sha256 $table_sha256" "  found    sha256 ${found%% *}" \
    '  fix: restore the table, or generate table and script again with hccl-gen'
