#!/bin/sh
# Back up a server, which may keep running:
#
#     deploy/backup.sh DATA FILE.tar.gz [postgresql://…]
#
# DATA is the server's data folder. The archive holds the database, corpora (not linked ones), own
# copies and uploads; only its owner can read it. Needs sqlite3 or pg_dump, flock, and GNU tar.
# `gzip -t FILE.tar.gz` says whether it is whole. To restore, unpack it into an empty data folder
# while server and workers are stopped (docs/operations.md).
set -eu
umask 077
data=$(cd "$1" && pwd) file=$2 postgresql=${3:-}
if [ -e "$file" ]; then
    echo "$file exists. Expected a new name." >&2
    exit 3
fi
made=$(mktemp -d "$(dirname "$file")/.backup-XXXXXX")
trap 'rm -rf "$made"' EXIT

# A consistent snapshot; then each folder while nobody else writes to it.
if [ -n "$postgresql" ]; then
    pg_dump --format=custom --file="$made/pincite.dump" "$postgresql"
else
    [ -f "$data/pincite.sqlite" ] || { echo "$data has no pincite.sqlite. Expected postgresql://…" >&2; exit 3; }
    sqlite3 -bail "$data/pincite.sqlite" ".timeout 30000" ".backup '$made/pincite.sqlite'"
fi
tar --create --file="$made/all.tar" --directory="$made" --exclude=all.tar .
cd "$data"
for folder in corpora/* uploads/*; do
    [ -d "$folder" ] || continue
    flock --wait 60 --conflict-exit-code 75 "$folder/lock" \
        tar --append --file="$made/all.tar" --exclude="$folder/lock" "$folder" ||
        { echo "$folder is being written. Try again later." >&2; exit 7; }
done
for folder in own/*; do
    [ -f "$folder/index.sqlite" ] || continue
    sqlite3 -bail "$folder/index.sqlite" ".timeout 30000" "BEGIN IMMEDIATE" \
        ".shell tar --append --file='$made/all.tar' --exclude='*-journal' '$folder' || touch '$made/failed'" "COMMIT"
done
[ ! -e "$made/failed" ]
cd - >/dev/null
gzip -3 "$made/all.tar"
mv "$made/all.tar.gz" "$file"
