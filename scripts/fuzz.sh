#!/usr/bin/env bash
# Runs the fuzz targets of all modules. go test runs their seeds, and the findings under
# testdata/fuzz, with every other test.
#
#   scripts/fuzz.sh 10s             every target for ten seconds
#   scripts/fuzz.sh -list           the targets, a package and a name each
#   scripts/fuzz.sh -budget 5m      every target, all of them within about five minutes
#   scripts/fuzz.sh 30s sse queue   those of the packages whose path has a word in it;
#                                   ./sse is that package alone
#
# A finding is kept in testdata/fuzz beside the test, and fails go test until it is
# fixed. Interesting inputs are kept in the build cache, outside of the repository, and
# the next run begins with them. Every package is built with the fuzzer's counters, once.
set -euo pipefail
cd "$(dirname "$0")/.."

targets() {
	grep -rlE '^func Fuzz[A-Z]' --include='*_test.go' . | sort | while read -r file; do
		grep -oE '^func Fuzz[A-Za-z0-9_]+' "$file" | awk -v package="$(dirname "$file")" '{print package, $2}'
	done
}

case ${1:-10s} in
-list)
	targets
	exit
	;;
-budget)
	budget=${2:?give a duration, such as 5m}
	shift 2
	seconds=${budget%[sm]}
	[[ $seconds =~ ^[0-9]+$ ]] || { echo "the budget \"$budget\" is no duration in s or m" >&2; exit 2; }
	[[ $budget != *m ]] || seconds=$((seconds * 60))
	;;
*)
	time=${1:-10s}
	[[ $time =~ ^[0-9]+(s|m|h|x)$ ]] || { echo "\"$time\" is no time for each target: give 30s or 5m, -budget or -list" >&2; exit 2; }
	shift || true
	;;
esac

chosen=()
while read -r package target; do
	wanted=1
	for word in "$@"; do
		wanted=0
		if [[ $package == "$word" || $word != ./* && $package == *"$word"* ]]; then
			wanted=1
			break
		fi
	done
	((wanted == 0)) || chosen+=("$package $target")
done < <(targets)
if ((${#chosen[@]} == 0)); then
	echo "no fuzz target is in a package with $* in its path" >&2
	exit 2
fi

said=$(mktemp)
trap 'rm -f "$said"' EXIT
began=$SECONDS
failed=0
for i in "${!chosen[@]}"; do
	read -r package target <<<"${chosen[$i]}"
	if [[ -n ${budget-} ]]; then
		# The remaining time is divided among the remaining targets; builds take of it too.
		left=$(((seconds - (SECONDS - began)) / (${#chosen[@]} - i)))
		time=$((left > 1 ? left : 1))s
	fi
	echo "== $package $target, $time"
	go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 20x -parallel "${FUZZPARALLEL:-2}" "$package" 2>&1 | tee "$said" && continue
	# At the end of its time the fuzzer now and then calls a worker that is not done
	# a failure. It has found nothing then, and says so by naming no input.
	if grep -q 'context deadline exceeded' "$said" && ! grep -qE 'Failing input|failure while testing|panic:' "$said"; then
		continue
	fi
	failed=$((failed + 1))
done
echo "${#chosen[@]} targets in $((SECONDS - began)) s, $failed failed"
((failed == 0))
