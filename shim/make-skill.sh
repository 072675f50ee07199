#!/bin/sh
# make-skill.sh STAMP FOLDER PROGRAM FILE…: a skill's folder as it is installed. Each file is replaced whole, so that a region which runs while it is rebuilt keeps what it has.
set -eu
stamp=$1 folder=$2
shift 2
mode=755
mkdir -p "$folder"
for file; do
        name=$(basename "$file")
        install -m "$mode" "$file" "$folder/$name.new"
        mv "$folder/$name.new" "$folder/$name"
        mode=644
done
: >"$stamp"
