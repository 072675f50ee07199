#!/bin/sh
# make-root.sh STAMP ROOT LETHE-SLOT LETHE-SECTION LETHE.PY LETHE.JS LETHE-LOCK.NODE: the tree that is bound at /lethe. Each file is replaced whole, so
# that a region which runs while it is rebuilt keeps what it has.
set -eu
stamp=$1 root=$2
put() {
        mkdir -p "$root/$(dirname "$3")"
        install -m "$2" "$1" "$root/$3.new"
        mv "$root/$3.new" "$root/$3"
}
put "$3" 755 bin/lethe-slot
put "$4" 755 bin/lethe-section
put "$5" 644 python/lethe.py
put "$6" 644 node/lethe.js
put "$7" 644 node/lethe-lock.node
: >"$stamp"
