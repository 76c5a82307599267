# Sets hk_asked, the variables that the user passes on, from the first arguments.

case ${1:-} in
    --export) IFS=, read -ra hk_asked <<<"${2:-}" && shift && shift ;;
    --export=*) IFS=, read -ra hk_asked <<<"${1#*=}" && shift ;;
esac
[[ ${1:-} != -- ]] || shift
