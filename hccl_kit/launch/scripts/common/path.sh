# Takes programs from absolute folders only. An empty or relative part of PATH means the current folder, where another
# user may have put a program with the name of ours.

absolute='' relative=''
while IFS= read -r -d : part; do
    if [[ $part == /* ]]; then absolute+=${absolute:+:}$part; else relative=1; fi
done <<<"$PATH:"
if [[ -n $relative ]]; then
    PATH=${absolute:-/usr/bin:/bin}
    echo 'note: PATH has an empty or relative part, the current folder; no programs are taken from there' >&2
fi
