for tool in cp env grep ln mkdir readlink sed setsid sha256sum sleep stat tail touch; do
    command -v "$tool" >/dev/null || die "error: $tool is not on PATH" \
        '  fix: install coreutils, grep, sed and util-linux'
done

# The table lies beside this script, so the two can be moved together. Symbolic links are resolved: torch_npu passes
# over a table that is one. HCCL takes the first ".json" of a path for its end.
script=$(readlink -f -- "${BASH_SOURCE[0]}")
here=${script%/*}
table=$(readlink -f -- "$here/$table_name") || table=$here/$table_name
[[ -f $table && -r $table ]] || die "error: no rank table to read at $table" '  fix: put it back beside this script'
[[ ${table%%.json*}.json == "$table" ]] || die "error: HCCL cannot read $table" '  fix: .json may only be its end'
found=$(sha256sum <"$table")
[[ ${found%% *} == "$table_sha256" ]] || die "error: this script was made for another rank table than $table" \
    "  expected sha256 $table_sha256" "  found    sha256 ${found%% *}" \
    '  fix: put the old table back, or write table and script anew with hccl-gen'
