# Checks of text from outside, to be made before it is used as a number.

# The shell evaluates text in ((...)), after -eq and in an index: a[$(id)] runs id, and 08 is an error.
is_number() { # TEXT [MAXIMUM]
    [[ $1 =~ ^(0|[1-9][0-9]{0,17})$ ]] && (($1 <= ${2:-$1}))
}

is_port() { # TEXT
    is_number "$1" 65535 && (($1 > 0))
}
