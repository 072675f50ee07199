# fish completion for lethe(1)

complete -c lethe -n __fish_use_subcommand -f -a audit -d 'recompute all that the store claims'
complete -c lethe -n __fish_use_subcommand -f -a capacity -d 'the worst case of memory for a mix of skills, from policy alone'
complete -c lethe -n __fish_use_subcommand -f -a checkpoint -d 'print the ledger'\''s newest signed checkpoint'
complete -c lethe -n __fish_use_subcommand -f -a export -d 'write the ledger as files that other programs verify'
complete -c lethe -n __fish_use_subcommand -f -a log -d 'print the ledger'
complete -c lethe -n __fish_use_subcommand -f -a prove -d 'prove that an entry stands in the ledger'
complete -c lethe -n __fish_use_subcommand -f -a skill -d 'register, list and show skills'
complete -c lethe -n __fish_use_subcommand -f -a slot -d 'define, write and read slots: what persists'
complete -c lethe -n __fish_use_subcommand -f -a validate -d 'check a skill'\''s folder and tell what it asks for'
complete -c lethe -n __fish_use_subcommand -f -a version -d 'print the version'

complete -c lethe -n '__fish_seen_subcommand_from audit' -l anchor -r -d 'the checkpoint copy that the store must not be behind'
complete -c lethe -n '__fish_seen_subcommand_from audit' -l json -d 'the report as one object'
complete -c lethe -n '__fish_seen_subcommand_from audit' -l store -r -d 'the store (default: $LETHE_STORE, else the XDG state folder)'

complete -c lethe -n '__fish_seen_subcommand_from capacity' -l anchor -r -d 'the checkpoint copy that the store must not be behind'
complete -c lethe -n '__fish_seen_subcommand_from capacity' -l json -d 'print JSON'
complete -c lethe -n '__fish_seen_subcommand_from capacity' -l policy -r -d 'the policy file (default: $LETHE_POLICY, else the usual places)'
complete -c lethe -n '__fish_seen_subcommand_from capacity' -l store -r -d 'the store (default: $LETHE_STORE, else the XDG state folder)'

complete -c lethe -n '__fish_seen_subcommand_from checkpoint' -l anchor -r -d 'the checkpoint copy that the store must not be behind'
complete -c lethe -n '__fish_seen_subcommand_from checkpoint' -l json -d 'one object: origin, size, root, vkey, note'
complete -c lethe -n '__fish_seen_subcommand_from checkpoint' -l store -r -d 'the store (default: $LETHE_STORE, else the XDG state folder)'

complete -c lethe -n '__fish_seen_subcommand_from export' -l anchor -r -d 'the checkpoint copy that the store must not be behind'
complete -c lethe -n '__fish_seen_subcommand_from export' -l json -d 'says what was written as one object'
complete -c lethe -n '__fish_seen_subcommand_from export' -l store -r -d 'the store (default: $LETHE_STORE, else the XDG state folder)'

complete -c lethe -n '__fish_seen_subcommand_from log' -l anchor -r -d 'the checkpoint copy that the store must not be behind'
complete -c lethe -n '__fish_seen_subcommand_from log' -l follow -d 'goes on as entries are appended, until interrupted'
complete -c lethe -n '__fish_seen_subcommand_from log' -l json -d 'each line is the entry as recorded, with seq added'
complete -c lethe -n '__fish_seen_subcommand_from log' -l region -r -d 'only events that occurred in this region'
complete -c lethe -n '__fish_seen_subcommand_from log' -l since -r -d 'from this entry on'
complete -c lethe -n '__fish_seen_subcommand_from log' -l store -r -d 'the store (default: $LETHE_STORE, else the XDG state folder)'
complete -c lethe -n '__fish_seen_subcommand_from log' -l type -r -d 'only this type, such as slot.written; may be given several times'

complete -c lethe -n '__fish_seen_subcommand_from prove' -l anchor -r -d 'the checkpoint copy that the store must not be behind'
complete -c lethe -n '__fish_seen_subcommand_from prove' -l json -d 'one object: seq, entry (text), proof (text), vkey'
complete -c lethe -n '__fish_seen_subcommand_from prove' -l output -r
complete -c lethe -n '__fish_seen_subcommand_from prove' -l store -r -d 'the store (default: $LETHE_STORE, else the XDG state folder)'

complete -c lethe -n '__fish_seen_subcommand_from skill' -a 'add list show'
complete -c lethe -n '__fish_seen_subcommand_from skill' -l anchor -r -d 'the checkpoint copy that the store must not be behind'
complete -c lethe -n '__fish_seen_subcommand_from skill' -l json -d 'print JSON'
complete -c lethe -n '__fish_seen_subcommand_from skill' -l store -r -d 'the store (default: $LETHE_STORE, else the XDG state folder)'

complete -c lethe -n '__fish_seen_subcommand_from slot' -a 'define put get list history watch'
complete -c lethe -n '__fish_seen_subcommand_from slot' -l anchor -r -d 'the checkpoint copy that the store must not be behind'
complete -c lethe -n '__fish_seen_subcommand_from slot' -l count -r
complete -c lethe -n '__fish_seen_subcommand_from slot' -l expect -r
complete -c lethe -n '__fish_seen_subcommand_from slot' -l json -d 'objects with all that is known'
complete -c lethe -n '__fish_seen_subcommand_from slot' -l schema -r
complete -c lethe -n '__fish_seen_subcommand_from slot' -l store -r -d 'the store (default: $LETHE_STORE, else the XDG state folder)'
complete -c lethe -n '__fish_seen_subcommand_from slot' -l version -r

complete -c lethe -n '__fish_seen_subcommand_from validate' -l json -d 'print JSON'
