#!/bin/sh
# Runs the crowd of proof/cheats at a waiting room of another release: the program of an
# instance is built in a work tree of that commit. The judge is this release's.
#
#	./scripts/cheats-at.sh COMMIT [flags of proof/cmd/cheats]
set -eu
cd "$(dirname "$0")/.."
if [ $# -lt 1 ]; then
	echo "usage: $0 COMMIT [flags]" >&2
	exit 2
fi
commit=$1
shift
folder=$(mktemp -d)
trap 'git worktree remove --force "$folder/tree" 2>/dev/null || true; rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM
git worktree add --quiet --detach "$folder/tree" "$commit"
at=$folder/tree/proof/cmd/room
[ -d "$folder/tree/proof" ] || at=$folder/tree/bench/cmd/room # where older releases have it
mkdir -p "$at"
cp proof/cmd/room/main.go "$at/"
(cd "$folder/tree" && ${GO:-go} build -o "$folder/room" "$at")
${GO:-go} run ./proof/cmd/cheats -room "$folder/room" "$@"
