# fish completion for lethe(1)

complete -c lethe -f -n __fish_use_subcommand -a version -d 'print the version'
