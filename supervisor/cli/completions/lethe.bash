# bash completion for lethe(1)

# The options of each verb, and the words that may follow it.
declare -A _lethe_options=(
        [audit]="--anchor --json --scope --since --skill --store --until"
        [capacity]="--anchor --json --policy --store"
        [certificate]="--anchor --json --key --output --public-key --store --verify"
        [checkpoint]="--anchor --json --store"
        [doctor]="--json --store"
        [export]="--anchor --json --store"
        [kill]="--anchor --store --wait"
        [log]="--anchor --follow --json --region --since --store --type"
        [prove]="--anchor --json --output --store"
        [ps]="--anchor --json --store"
        [report]="--anchor --json --output --scope --since --skill --store --until"
        [run]="--anchor --connect --cpu-time --discipline --dry-run --entry --env --exec --file-size --json --memory --network --nofile --output-limit --pids-limit --policy --proc --quiet --receipt --scratch --store --tier --timeout --verbose --volume --workdir"
        [skill]="--anchor --json --policy --store"
        [slot]="--anchor --count --expect --json --schema --store --version"
        [validate]="--json --policy"
        [version]=""
        [why]="--anchor --json --store"
)
declare -A _lethe_words=(
        [audit]="regions"
        [skill]="add list show"
        [slot]="define put get list history watch"
)

# Ids of the newest regions of the store that the line names.
_lethe_regions() {
        local i store=()

        for ((i = 1; i + 1 < COMP_CWORD; i++)); do
                [ "${COMP_WORDS[i]}" != --store ] || store=(--store "${COMP_WORDS[i + 1]}")
        done
        lethe log --type region.allocated "${store[@]}" 2>/dev/null | tail -n 200 | awk '{ print $3 }'
}

_lethe() {
        local word=${COMP_WORDS[COMP_CWORD]} verb=${COMP_WORDS[1]:-} before=${COMP_WORDS[COMP_CWORD - 1]:-}

        COMPREPLY=()
        # shellcheck disable=SC2207 # verbs and options have no spaces
        if [ "$COMP_CWORD" = 1 ]; then
                COMPREPLY=($(compgen -W "${!_lethe_options[*]} --help --version" -- "$word"))
        elif [[ $word == -* ]]; then
                COMPREPLY=($(compgen -W "${_lethe_options[$verb]:-} --help" -- "$word"))
        elif [ "$COMP_CWORD" = 2 ] && [ -n "${_lethe_words[$verb]:-}" ]; then
                COMPREPLY=($(compgen -W "${_lethe_words[$verb]}" -- "$word"))
        elif [ "$verb" = audit ] && [ "$before" = regions ]; then
                COMPREPLY=($(compgen -W "unreleased unproved late breached recovered weaker relaxed" -- "$word"))
        elif [ "$before" = --region ] || [[ $verb =~ ^(why|certificate|kill)$ && $before != -* ]]; then
                COMPREPLY=($(compgen -W "$(_lethe_regions)" -- "$word"))
        else
                compopt -o default 2>/dev/null
        fi
}
complete -F _lethe lethe
