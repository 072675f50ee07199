#!/bin/sh
# memory.sh LETHE: what typed memory is for, as three short stories. Each command is one that a person would type; each line that is checked stands beside it.
set -eu
lethe=$1
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT
export LETHE_STORE="$top/store" LETHE_ANCHOR="$top/anchor" HOME="$top"
failed=0
lethe() { "$lethe" "$@"; }
says() { # WORDS COMMAND…: it ends well and prints these words
        words=$1
        shift
        if ! out=$("$@" 2>&1) || ! printf '%s\n' "$out" | grep -qF -- "$words"; then
                printf 'not said: %s\n  by: %s\n%s\n' "$words" "$*" "$out"
                failed=1
        fi
}
refuses() { # WORDS COMMAND…: it ends with 1 and says why
        words=$1
        shift
        if out=$("$@" 2>&1) || ! printf '%s\n' "$out" | grep -qF -- "$words"; then
                printf 'not refused: %s\n%s\n' "$*" "$out"
                failed=1
        fi
}

echo '== The birthday (M-61): what one session learns, the next one knows'
# A session saves a fact.
says 'ann-birthday is created, version 1' \
        lethe memory save memory '{"subject":"Ann","predicate":"has birthday on","object":"11 March","confidence":0.9}' --type semantic --id ann-birthday
# The service derives what follows from it, each time anew; nothing of that is ever stored.
says '"strong":0' lethe memory view memory ann-birthday --json
lethe memory save knowledge '{"title":"Ann","text":"Likes herons."}' --id ann --refs '[{"kind":"memory_substrate","id":"ann-birthday","role":"about"}]' >/dev/null
says '"strong":1' lethe memory view memory ann-birthday --json
# A later session finds it by a typed query,
says '11 March' lethe memory search 'birthday type:semantic'
# and it is in what the next turn is given, as advice.
says 'ADVISORY memory (not truth)' lethe context --query birthday
says 'ann-birthday: Ann has birthday on 11 March' lethe context --query birthday
# A plain fact that nobody refers to is not stale: no cleanup takes it.
says 'pass 1: 0 archived, 0 removed' lethe digest run --approve auto:broken_ref,superseded_by,retired_dependency --apply

echo '== The digest (M-62): scan, check, proposal, approval, archive, removal; and why'
lethe memory save memory '{"summary":"The office is in Bonn."}' --type episodic --id office-bonn >/dev/null
lethe memory save memory '{"summary":"The office moved to Kiel."}' --type episodic --id office-kiel \
        --refs '[{"kind":"memory_substrate","id":"office-bonn","role":"supersedes"}]' >/dev/null
lethe memory save knowledge '{"title":"Travel","text":"Trains to the office."}' --id travel --refs '[{"kind":"memory_substrate","id":"office-bonn"}]' >/dev/null
# Without approval there is a proposal, and nothing else.
says 'superseded_by memory_substrate/office-kiel  approved: no' lethe digest run
says 'dry run: nothing changed' lethe digest run
says '"state":"active"' lethe memory load memory office-bonn --json
# Approved by name, it is archived; and can be brought back.
says 'pass 2: 1 archived' lethe digest run --name memory_substrate/office-bonn --apply
says 'active again' lethe memory restore memory office-bonn
says 'pass 3: 1 archived' lethe digest run --approve auto:superseded_by --apply
# What still leans on it keeps it from removal, and is told; that page has lost what it stands on, and is archived itself.
says 'blocked by knowledge_projections/travel' lethe digest run --approve auto:superseded_by --apply
says 'retired_dependency memory_substrate/office-bonn  approved: policy' lethe digest run --approve auto:retired_dependency --apply
says 'pass 6: 0 archived, 1 removed' lethe digest run --approve auto:retired_dependency --apply
says 'pass 7: 0 archived, 1 removed' lethe digest run --approve auto:superseded_by --apply
# At each step it can be told which pass it was, for which reason, with the references as they were.
says '"reason": "superseded_by"' lethe digest why memory office-bonn
says '"pass": 3' lethe digest why memory office-bonn
says '"removed"' lethe memory load memory office-bonn

echo '== Deletion (M-63): request, a look at who depends on it, gone, on record'
lethe memory save memory '{"summary":"Secret: the key is under the mat, says Quillfeather."}' --type episodic --id mat >/dev/null
lethe memory save skill '{"name":"come in","steps":[{"order":1,"instruction":"Look under the mat."}]}' --id come-in \
        --refs '[{"kind":"memory_substrate","id":"mat"}]' >/dev/null
says 'skill_artifacts come-in (strong, active)  holds' lethe memory delete memory mat --check
refuses 'holds on to it' lethe memory delete memory mat
says 'memory_substrate mat is deleted' lethe memory delete memory mat --cascade --reason 'the lock was changed'
refuses 'there is no record mat' lethe memory load memory mat
says 'the lock was changed' lethe memory history memory mat
says 'memory.delete' lethe log --type memory.delete
# Its bytes are in none of the store's files, and the ledger still holds.
lethe compact >/dev/null
if grep -aiqr quillfeather "$top/store"; then
        echo 'the payload is still in the store'
        failed=1
fi
says 'intact' lethe audit
says 'all holds' lethe verify
[ "$failed" = 0 ] && echo 'memory: all as it should be'
exit "$failed"
