# bash completion for lethe(1)

declare -A _lethe_options=(
        [version]=""
)

_lethe() {
        local word=${COMP_WORDS[COMP_CWORD]} verb=${COMP_WORDS[1]:-}

        COMPREPLY=()
        if [ "$COMP_CWORD" = 1 ]; then
                # shellcheck disable=SC2207 # verbs have no spaces
                COMPREPLY=($(compgen -W "${!_lethe_options[*]} --help --version" -- "$word"))
        elif [[ $word == -* ]]; then
                # shellcheck disable=SC2207 # options have no spaces
                COMPREPLY=($(compgen -W "${_lethe_options[$verb]:-} --help" -- "$word"))
        else
                compopt -o default 2>/dev/null
        fi
}
complete -F _lethe lethe
