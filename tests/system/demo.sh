#!/bin/bash
# The demo checks everything that it shows. Here it also has to work where the clone and the temporary folder have a space in their names,
# and to leave nothing behind.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd -P)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
clone=$dir/a\ clone
mkdir -p "$clone/tests/state/ledger" "$dir/for files"
cp -R "$top/scripts" "$clone/"
cp -R "$top/tests/state/ledger/verify" "$clone/tests/state/ledger/"
TMPDIR=$dir/for\ files "$clone/scripts/demo" --no-setup
[ -z "$(ls -A "$dir/for files")" ] || { echo "the demo left: $(ls -A "$dir/for files")"; exit 1; }
