# Refuses a folder whose name would act on a terminal: messages name it.

[[ $PWD != *[[:cntrl:]]* ]] ||
    die "error: the name of the folder has control characters: $PWD" '  fix: start in another folder'
