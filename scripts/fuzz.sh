#!/usr/bin/env bash
# Runs every fuzz target of the module for the given time each.
set -euo pipefail
time=${1:-10s}
grep -rlE '^func Fuzz[A-Z]' --include='*_test.go' . | while read -r file; do
	package=$(dirname "$file")
	grep -oE '^func Fuzz[A-Za-z0-9_]+' "$file" | awk '{print $2}' | while read -r target; do
		echo "== $package $target"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 20x "$package"
	done
done
