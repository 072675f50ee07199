#!/bin/sh
# driver.sh stress ROUNDS 1: as driver.c, with a process for each call.
set -eu
last=0 i=0
while [ "$i" -lt "$2" ]; do
        [ "$(lethe-slot read facts)" = '{"n":1}' ]
        case $(lethe-slot read notes/a --raw) in h*llo*) ;; *) exit 5 ;; esac
        version=$(lethe-slot write out '{"by":"sh"}')
        [ "$version" -gt "$last" ]
        last=$version
        echo "$version"
        i=$((i + 1))
done
