#!/bin/sh
# Runs: tests. check-export.sh LETHE FILL SOURCE: exports of 1,000 and of 70,000 entries verify with Go's x/mod and with openssl, and
# flips of single bytes are caught.
set -eu
lethe=$1 fill=$2 source=$3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export XDG_STATE_HOME="$dir/state" GO111MODULE=off GOPATH=/usr/share/gocode GOCACHE="$dir/go" GOFLAGS= HOME="$dir"
unset LETHE_ANCHOR LETHE_STORE || true

fail() { echo "check-export: $*" >&2; exit 1; }
command -v go >/dev/null && command -v openssl >/dev/null && [ -d /usr/share/gocode/src/golang.org/x/mod/sumdb/tlog ] ||
        { echo "check-export: go, openssl or golang-golang-x-mod-dev is not installed" >&2; exit 77; }
go build -o "$dir/verify" "$source"

# The signature with nothing but openssl: RFC 8410 says what stands before the 32 bytes of an Ed25519 key.
by_openssl() {
        sed -n 1,3p "$1/checkpoint" >"$dir/text"
        sed -n 5p "$1/checkpoint" | cut -d' ' -f3 | base64 -d | tail -c 64 >"$dir/signature"
        { printf '\060\052\060\005\006\003\053\145\160\003\041\000'; cut -d+ -f3- <"$1/vkey" | base64 -d | tail -c 32; } >"$dir/key.der"
        openssl pkeyutl -verify -pubin -inkey "$dir/key.der" -keyform DER -rawin -in "$dir/text" -sigfile "$dir/signature" >/dev/null
}

# size, flips (0: each byte)
for case in 40:0 1000:2000 70000:15; do
        size=${case%:*} flips=${case#*:}
        "$fill" "$dir/store" "$size"
        "$lethe" export --store "$dir/store" "$dir/export" >/dev/null
        "$dir/verify" "$dir/export" | grep -qx "$size entries verified" || fail "$size entries: Go's verifier refuses the export"
        "$dir/verify" flip "$dir/export" "$flips" || fail "$size entries: a flip is not caught"
        by_openssl "$dir/export" || fail "$size entries: openssl refuses the checkpoint"
        sed -i '2s/.$/x/' "$dir/text"
        if openssl pkeyutl -verify -pubin -inkey "$dir/key.der" -keyform DER -rawin -in "$dir/text" -sigfile "$dir/signature" >/dev/null 2>&1; then
                fail "$size entries: openssl accepts another size"
        fi
        for seq in 0 1 $((size / 2)) $((size - 1)); do
                "$lethe" prove --store "$dir/store" -o "$dir/proof" "$seq"
                "$lethe" prove --store "$dir/store" --json "$seq" | python3 -c 'import json, sys; sys.stdout.write(json.load(sys.stdin)["entry"])' >"$dir/entry"
                "$dir/verify" proof "$dir/proof" "$dir/entry" "$dir/export/vkey" || fail "$size entries: the proof of $seq does not verify"
                printf x >>"$dir/entry"
                if "$dir/verify" proof "$dir/proof" "$dir/entry" "$dir/export/vkey" 2>/dev/null; then fail "$seq: the proof proves another entry"; fi
        done
        "$lethe" audit --store "$dir/store" >/dev/null || fail "$size entries: audit"
        rm -rf "$dir/store" "$dir/export"
done
