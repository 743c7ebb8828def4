#!/usr/bin/env bash
# Runs a command with real servers up and their URLs in the environment.
#
#   with-services.sh [NAME…] -- COMMAND…
#
# Without a NAME all that services.sh starts by itself. A server whose URL is set
# already is not started, and the URL is kept.
set -euo pipefail
here=$(dirname "$0")
declare -A variable=()
everything=() names=()
while read -r name url on_request; do
	variable[$name]=$url
	[ -n "$on_request" ] || everything+=("$name")
done < <("$here/services.sh" list)
while [ "$1" != -- ]; do
	names+=("$1")
	shift
done
shift
[ ${#names[@]} -gt 0 ] || names=("${everything[@]}")
missing=()
for name in "${names[@]}"; do
	[ -n "${!variable[$name]:-}" ] || missing+=("$name")
done
if [ ${#missing[@]} -gt 0 ]; then
	urls=$("$here/services.sh" up "${missing[@]}")
	while read -r line; do
		set_already=${line#export }
		set_already=${set_already%%=*}
		if [ -z "${!set_already:-}" ]; then eval "$line"; fi
	done <<<"$urls"
fi
exec "$@"
