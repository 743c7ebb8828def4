#!/usr/bin/env bash
# Checks that the go.mod and go.sum of every module of the tree are tidy; with -w writes
# them, and adds new modules to go.work.
#
# The modules require each other by the version that is released next, which no proxy has
# yet, and go mod tidy does not look at go.work. So it works on a copy of go.mod that has
# the folders of the tree in place of that version.
set -euo pipefail
cd "$(dirname "$0")/.."
own=github.com/millrace-go/millrace
next=$(awk '$1 == "'$own'" { print $2 }' go.work) # replaced there
write=${1:-}
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT

apart=examples/googlepubsub # not in go.work
if [ "$write" = -w ]; then
	while read -r mod; do
		dir=${mod%/go.mod}
		if [ "$dir" != $apart ] && ! grep -qx "\s*./$dir" go.work; then
			go work edit -use="./$dir" -replace="$own/$dir@$next=./$dir"
		fi
	done < <(git ls-files --cached --others --exclude-standard '*/go.mod')
fi

declare -A folder=([$own/$apart]=$PWD/$apart)
for module in $(./scripts/modules); do folder[$own${module#.}]=$PWD/${module#./}; done
replace=() drop=()
for path in "${!folder[@]}"; do
	replace+=("-replace=$path=${folder[$path]}")
	drop+=("-dropreplace=$path")
done

failed=0
for path in "${!folder[@]}"; do
	dir=${folder[$path]}
	touch "$dir/go.sum"
	cp "$dir/go.mod" "$dir/go.sum" "$copy"
	(
		cd "$dir"
		export GOWORK=off
		go mod edit "${replace[@]}" -dropreplace="$path" "$copy/go.mod"
		go mod tidy -modfile="$copy/go.mod"
		go mod edit "${drop[@]}" "$copy/go.mod"
	)
	sed -i -E "s#^(.*$own\S*) v\S+#\1 $next#" "$copy/go.mod"
	if [ "$write" = -w ]; then
		cp "$copy/go.mod" "$copy/go.sum" "$dir"
	elif ! diff -u "$dir/go.mod" "$copy/go.mod" || ! diff -u "$dir/go.sum" "$copy/go.sum"; then
		echo "$path is not tidy (make tidy)"
		failed=1
	fi
done
exit $failed
