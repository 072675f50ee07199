#!/bin/sh
# make-root.sh STAMP ROOT LETHE-SLOT LETHE-SECTION LETHE.PY LETHE.JS LETHE-LOCK.NODE LIBLETHE-WARM.SO WARM.PY AHEAD.JS WARM.PL LETHEWARM.PM LETHE-LOAD [LETHE.PYC]: the tree that is bound at /lethe. Each file is replaced whole, so
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
put "$8" 644 warm/liblethe-warm.so
put "$9" 644 warm/warm.py
put "${10}" 644 warm/ahead.js
put "${11}" 644 warm/warm.pl
put "${12}" 644 warm/LetheWarm.pm
put "${13}" 755 bin/lethe-load
[ $# -lt 14 ] || put "${14}" 644 "python/__pycache__/$(basename "${14}")"
: >"$stamp"
