# fish completion for lethe(1)

complete -c lethe -n __fish_use_subcommand -f -a audit -d 'recompute all that the store claims'
complete -c lethe -n __fish_use_subcommand -f -a capacity -d 'the worst case of memory for a mix of skills, from policy alone'
complete -c lethe -n __fish_use_subcommand -f -a certificate -d 'state how a region'\''s memory was sanitized, for others to verify'
complete -c lethe -n __fish_use_subcommand -f -a checkpoint -d 'print the ledger'\''s newest signed checkpoint'
complete -c lethe -n __fish_use_subcommand -f -a doctor -d 'tell what this machine gives a region, and how to get the rest'
complete -c lethe -n __fish_use_subcommand -f -a export -d 'write the ledger as files that other programs verify'
complete -c lethe -n __fish_use_subcommand -f -a kill -d 'end a region'
complete -c lethe -n __fish_use_subcommand -f -a log -d 'print the ledger'
complete -c lethe -n __fish_use_subcommand -f -a prove -d 'prove that an entry stands in the ledger'
complete -c lethe -n __fish_use_subcommand -f -a ps -d 'list the regions that are alive'
complete -c lethe -n __fish_use_subcommand -f -a report -d 'write a page for auditors about what became of each region'
complete -c lethe -n __fish_use_subcommand -f -a run -d 'run a skill, or one program, in a region of its own'
complete -c lethe -n __fish_use_subcommand -f -a skill -d 'register, list and show skills'
complete -c lethe -n __fish_use_subcommand -f -a slot -d 'define, write and read slots: what persists'
complete -c lethe -n __fish_use_subcommand -f -a validate -d 'check a skill'\''s folder and tell what it asks for'
complete -c lethe -n __fish_use_subcommand -f -a version -d 'print the version'
complete -c lethe -n __fish_use_subcommand -f -a why -d 'tell how a region ended, and what it was denied'

# Ids of the newest regions of the store.
function __lethe_regions
        lethe log --type region.allocated 2>/dev/null | tail -n 200 | awk '{ print $3 }'
end
complete -c lethe -n '__fish_seen_subcommand_from why certificate kill' -a '(__lethe_regions)'
complete -c lethe -n '__fish_seen_subcommand_from regions' -a 'unreleased unproved late breached recovered weaker relaxed'

complete -c lethe -n '__fish_seen_subcommand_from audit' -l anchor -r -d 'the checkpoint copy that the store must not be behind'
complete -c lethe -n '__fish_seen_subcommand_from audit' -a regions
complete -c lethe -n '__fish_seen_subcommand_from audit' -l json -d 'the report as one object'
complete -c lethe -n '__fish_seen_subcommand_from audit' -l scope -x -a 'invocation invocation-tree' -d 'regions: only of this key scope'
complete -c lethe -n '__fish_seen_subcommand_from audit' -l since -x -d 'regions: allocated then or later'
complete -c lethe -n '__fish_seen_subcommand_from audit' -l skill -x -d 'regions: only of this skill'
complete -c lethe -n '__fish_seen_subcommand_from audit' -l until -x -d 'regions: allocated before'
complete -c lethe -n '__fish_seen_subcommand_from audit' -l store -r -d 'the store (default: $LETHE_STORE, else the XDG state folder)'

complete -c lethe -n '__fish_seen_subcommand_from capacity' -l anchor -r -d 'the checkpoint copy that the store must not be behind'
complete -c lethe -n '__fish_seen_subcommand_from capacity' -l json -d 'print JSON'
complete -c lethe -n '__fish_seen_subcommand_from capacity' -l policy -r -d 'the policy file (default: $LETHE_POLICY, else the usual places)'
complete -c lethe -n '__fish_seen_subcommand_from capacity' -l store -r -d 'the store (default: $LETHE_STORE, else the XDG state folder)'

complete -c lethe -n '__fish_seen_subcommand_from certificate' -l anchor -r -d 'the checkpoint copy that the store must not be behind'
complete -c lethe -n '__fish_seen_subcommand_from certificate' -l json -d 'with --key and --verify: one object'
complete -c lethe -n '__fish_seen_subcommand_from certificate' -l key -d 'the ledger'\''s public key in PEM'
complete -c lethe -n '__fish_seen_subcommand_from certificate' -l output -r
complete -c lethe -n '__fish_seen_subcommand_from certificate' -l public-key -r -d 'with --verify: the key in this file; no store is needed'
complete -c lethe -n '__fish_seen_subcommand_from certificate' -l store -r -d 'the store (default: $LETHE_STORE, else the XDG state folder)'
complete -c lethe -n '__fish_seen_subcommand_from certificate' -l verify -r -d 'check a certificate with this store'\''s key'

complete -c lethe -n '__fish_seen_subcommand_from checkpoint' -l anchor -r -d 'the checkpoint copy that the store must not be behind'
complete -c lethe -n '__fish_seen_subcommand_from checkpoint' -l json -d 'one object: origin, size, root, vkey, note'
complete -c lethe -n '__fish_seen_subcommand_from checkpoint' -l store -r -d 'the store (default: $LETHE_STORE, else the XDG state folder)'

complete -c lethe -n '__fish_seen_subcommand_from doctor' -l json -d 'one object: tier, checks'
complete -c lethe -n '__fish_seen_subcommand_from doctor' -l store -r -d 'the store (default: $LETHE_STORE, else the XDG state folder)'

complete -c lethe -n '__fish_seen_subcommand_from export' -l anchor -r -d 'the checkpoint copy that the store must not be behind'
complete -c lethe -n '__fish_seen_subcommand_from export' -l json -d 'says what was written as one object'
complete -c lethe -n '__fish_seen_subcommand_from export' -l store -r -d 'the store (default: $LETHE_STORE, else the XDG state folder)'

complete -c lethe -n '__fish_seen_subcommand_from log' -l anchor -r -d 'the checkpoint copy that the store must not be behind'
complete -c lethe -n '__fish_seen_subcommand_from log' -l follow -d 'goes on as entries are appended, until interrupted'
complete -c lethe -n '__fish_seen_subcommand_from log' -l json -d 'each line is the entry as recorded, with seq added'
complete -c lethe -n '__fish_seen_subcommand_from log' -l region -x -a '(__lethe_regions)' -d 'only events that occurred in this region'
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
complete -c lethe -n '__fish_seen_subcommand_from skill' -l policy -r -d 'the policy file (default: $LETHE_POLICY, else the usual places)'
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
complete -c lethe -n '__fish_seen_subcommand_from validate' -l policy -r -d 'the policy file (default: $LETHE_POLICY, else the usual places)'

complete -c lethe -n '__fish_seen_subcommand_from report' -l anchor -r -d 'the checkpoint copy that the store must not be behind'
complete -c lethe -n '__fish_seen_subcommand_from report' -l json -d 'says what was written as one object'
complete -c lethe -n '__fish_seen_subcommand_from report' -l output -r -d 'the page'
complete -c lethe -n '__fish_seen_subcommand_from report' -l scope -x -a 'invocation invocation-tree' -d 'only regions of this key scope'
complete -c lethe -n '__fish_seen_subcommand_from report' -l since -x -d 'regions allocated then or later'
complete -c lethe -n '__fish_seen_subcommand_from report' -l skill -x -d 'only regions of this skill'
complete -c lethe -n '__fish_seen_subcommand_from report' -l store -r -d 'the store (default: $LETHE_STORE, else the XDG state folder)'
complete -c lethe -n '__fish_seen_subcommand_from report' -l until -x -d 'regions allocated before'

complete -c lethe -n '__fish_seen_subcommand_from run' -l anchor -r -d 'the checkpoint copy that the store must not be behind'
complete -c lethe -n '__fish_seen_subcommand_from run' -l connect -r -d 'allow TCP connections to this address'
complete -c lethe -n '__fish_seen_subcommand_from run' -l cpu-time -r -d 'of the whole process tree'
complete -c lethe -n '__fish_seen_subcommand_from run' -l discipline -r -d 'zero, multipass, multipass:N or none: how its memory is overwritten'
complete -c lethe -n '__fish_seen_subcommand_from run' -l dry-run -d 'print the effective policy and run nothing'
complete -c lethe -n '__fish_seen_subcommand_from run' -l entry -r -d 'the manifest'\''s entry, or a file of the folder (default: main)'
complete -c lethe -n '__fish_seen_subcommand_from run' -l env -r -d 'a variable of the environment; NAME alone passes the caller'\''s on'
complete -c lethe -n '__fish_seen_subcommand_from run' -l exec -r -d 'a program instead of a skill; what follows is its own'
complete -c lethe -n '__fish_seen_subcommand_from run' -l file-size -r -d 'the largest file'
complete -c lethe -n '__fish_seen_subcommand_from run' -l json -d 'with --dry-run: as JSON'
complete -c lethe -n '__fish_seen_subcommand_from run' -l memory -r -d 'of the whole process tree, with its scratch'
complete -c lethe -n '__fish_seen_subcommand_from run' -l network -r -d 'none, private or host (default: none)'
complete -c lethe -n '__fish_seen_subcommand_from run' -l nofile -r -d 'open files of each process'
complete -c lethe -n '__fish_seen_subcommand_from run' -l output-limit -r -d 'standard output and error together'
complete -c lethe -n '__fish_seen_subcommand_from run' -l pids-limit -r -d 'processes and threads'
complete -c lethe -n '__fish_seen_subcommand_from run' -l policy -r -d 'the operator'\''s policy'
complete -c lethe -n '__fish_seen_subcommand_from run' -l proc -d 'give the region a /proc of its own processes'
complete -c lethe -n '__fish_seen_subcommand_from run' -l quiet -d 'say nothing but errors'
complete -c lethe -n '__fish_seen_subcommand_from run' -l receipt -r -d 'write how it ended there, as JSON'
complete -c lethe -n '__fish_seen_subcommand_from run' -l scratch -r -d '/work and /tmp together'
complete -c lethe -n '__fish_seen_subcommand_from run' -l store -r -d 'the store (default: $LETHE_STORE, else the XDG state folder)'
complete -c lethe -n '__fish_seen_subcommand_from run' -l tier -r -d 'namespaces or landlock: exactly this one'
complete -c lethe -n '__fish_seen_subcommand_from run' -l timeout -r -d 'wall time; then it ends with 124'
complete -c lethe -n '__fish_seen_subcommand_from run' -l verbose -d 'say a line also when all went well'
complete -c lethe -n '__fish_seen_subcommand_from run' -l volume -r -d 'a file or folder of the host, read-only unless rw is said'
complete -c lethe -n '__fish_seen_subcommand_from run' -l workdir -r -d 'working folder in the region (default: /work)'

complete -c lethe -n '__fish_seen_subcommand_from kill' -l anchor -r -d 'the checkpoint copy that the store must not be behind'
complete -c lethe -n '__fish_seen_subcommand_from kill' -l store -r -d 'the store (default: $LETHE_STORE, else the XDG state folder)'
complete -c lethe -n '__fish_seen_subcommand_from kill' -l wait -d 'return only when the region'\''s end is recorded'

complete -c lethe -n '__fish_seen_subcommand_from ps' -l anchor -r -d 'the checkpoint copy that the store must not be behind'
complete -c lethe -n '__fish_seen_subcommand_from ps' -l json -d 'one object a line'
complete -c lethe -n '__fish_seen_subcommand_from ps' -l store -r -d 'the store (default: $LETHE_STORE, else the XDG state folder)'

complete -c lethe -n '__fish_seen_subcommand_from why' -l anchor -r -d 'the checkpoint copy that the store must not be behind'
complete -c lethe -n '__fish_seen_subcommand_from why' -l json -d 'as JSON'
complete -c lethe -n '__fish_seen_subcommand_from why' -l store -r -d 'the store (default: $LETHE_STORE, else the XDG state folder)'
