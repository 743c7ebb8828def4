#!/usr/bin/env bash
# Compares the exported names of each public module with those at another commit.
#
#   apidiff.sh COMMIT
#
# Prints incompatible changes and new names, by module. Before 1.0 they are no failure:
# the changelog has to name them.
set -euo pipefail
cd "$(dirname "$0")/.."
commit=${1:?name a commit to compare with, such as origin/main}
tool=golang.org/x/exp/cmd/apidiff@v0.0.0-20261113113407-e3970619a1a4

before=$(mktemp -d)
trap 'git worktree remove --force "$before/tree" >/dev/null; rm -rf "$before"' EXIT
git worktree add --quiet --detach "$before/tree" "$commit"
export GOBIN=$before
go install "$tool"
for folder in $(./scripts/modules); do
	case $folder in ./internal/* | ./proof | ./examples | ./cmd/*) continue ;; esac
	module=$(awk '$1 == "module" { print $2 }' "$folder/go.mod")
	echo "## $module"
	if [ ! -f "$before/tree/$folder/go.mod" ]; then
		echo "a new module"
		continue
	fi
	(cd "$before/tree/$folder" && "$before/apidiff" -m -w "$before/old" "$module")
	(cd "$folder" && "$before/apidiff" -m "$before/old" "$module")
done 2>&1 | { grep -v '^Ignoring internal package' || true; }
