#!/usr/bin/env bash
# Format, vet, modules, generated scripts, lint, and the links of the documentation.
# The argument names the linter with its version.
set -euo pipefail
linter=$1

unformatted=$(gofmt -l $(git ls-files '*.go'))
if [ -n "$unformatted" ]; then
	printf 'not formatted (make fmt):\n%s\n' "$unformatted"
	exit 1
fi
./scripts/tidy.sh
go run ./scripts/glue -check
go mod verify >/dev/null
# shellcheck disable=SC2046 # words
go run "$linter" run $(./scripts/modules | sed 's#$#/...#') # vets too: govet

# Every relative link of a Markdown file leads to a file.
broken=0
while IFS=: read -r file link; do
	target=$(dirname "$file")/${link%%#*}
	if [ ! -e "$target" ]; then
		echo "$file: the link $link leads nowhere"
		broken=1
	fi
done < <(git ls-files '*.md' | xargs awk 'FNR == 1 { code = 0 } /^```/ { code = !code } !code { print FILENAME ":" $0 }' |
	grep -oE '^[^:]+:|\]\([^)#][^)]*\)' | awk '/:$/ { file = $0; next } { print file $0 }' |
	sed -E 's/\]\(([^)]*)\)/\1/' | grep -vE ':(https?|mailto):')
exit $broken
