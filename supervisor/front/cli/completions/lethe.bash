# bash completion for lethe(1)

# The options of each verb, and the words that may follow it.
declare -A _lethe_options=(
        [audit]="--anchor --json --last --scope --since --skill --store --until"
        [canon]="--anchor --bucket --json --scope --state --store"
        [capacity]="--anchor --json --policy --store"
        [certificate]="--anchor --json --key --last --output --public-key --store --verify"
        [checkpoint]="--anchor --json --store"
        [compact]="--anchor --json --store"
        [context]="--anchor --json --lane --query --scope --store"
        [digest]="--anchor --apply --approve --json --name --policy --reasons --scope --store"
        [doctor]="--json --store"
        [export]="--anchor --json --store"
        [kernel]="--anchor --at --base --json --resolve --scope --store"
        [kill]="--anchor --discard --last --store --wait"
        [log]="--anchor --follow --json --last --region --since --store --type"
        [memory]="--anchor --cascade --check --depth --expect --id --incoming --json --limit --reason --refs --scope --socket --store --type"
        [metrics]="--anchor --json --store --textfile"
        [note]="--agent --anchor --drop --json --role --scope --store"
        [pending]="--all --anchor --json --most --reason --scope --store"
        [promote]="--advisor --anchor --batch --delta --json --last --most --policy --set --store --tau"
        [prove]="--anchor --json --output --store"
        [ps]="--all --anchor --json --store"
        [rebuild]="--anchor --json --store"
        [report]="--anchor --json --output --scope --since --skill --store --until"
        [run]="--anchor --connect --cpu-time --discipline --dry-run --entry --env --exec --file-size --foreign --idle --json --memory --name --network --no-serve --nofile --output-limit --pids-limit --policy --proc --promote --quiet --receipt --scratch --socket --store --tier --timeout --verbose --volume --workdir"
        [scope]="--anchor --json --reason --store"
        [serve]="--anchor --drain --max-clients --max-queued --max-running --policy --reload --replace --socket --store"
        [skill]="--anchor --json --policy --store"
        [slot]="--anchor --arbitrate --count --expect --json --schema --store --version"
        [trace]="--anchor --json --last --region --scope --since --skill --store --until"
        [validate]="--json --policy"
        [verify]="--anchor --json --store"
        [version]=""
        [why]="--anchor --json --last --store"
)
declare -A _lethe_words=(
        [audit]="regions touched derived"
        [canon]="list show history"
        [digest]="run passes why"
        [kernel]="status show diff patch merge log"
        [memory]="save load list search history view refs delete restore working"
        [note]="begin add list runs end"
        [pending]="list show retry bind drop"
        [scope]="create list delete"
        [skill]="add list show"
        [slot]="define put get list show history decide watch"
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
        elif [ "$before" = --region ] || [[ $verb =~ ^(why|certificate|kill)$ && $before != -* ]] || [[ $verb == audit && $before == derived ]]; then
                COMPREPLY=($(compgen -W "$(_lethe_regions)" -- "$word"))
        else
                compopt -o default 2>/dev/null
        fi
}
complete -F _lethe lethe
