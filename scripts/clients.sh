#!/usr/bin/env bash
# Installs the clients of other authors that the tests of package sse have read its
# streams, as sse/testdata/clients/package-lock.json pins them, into build/clients.
# Prints where the npm package eventsource is. Needs npm, and the tests node and curl (Debian: nodejs npm curl).
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
to=$here/build/clients
package=$to/node_modules/eventsource
mkdir -p "$to"
if ! cmp -s "$here/sse/testdata/clients/package-lock.json" "$to/package-lock.json" || [ ! -e "$package" ]; then
	for command in node npm curl; do
		if command -v "$command" >/dev/null; then continue; fi
		if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
			echo "$command is not installed (Debian: apt-get install nodejs npm curl)" >&2
			exit 1
		fi
		apt-get -qq update >&2
		DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends nodejs npm curl >&2
	done
	cp "$here/sse/testdata/clients/package.json" "$to"
	cp "$here/sse/testdata/clients/package-lock.json" "$to/package-lock.json.new"
	mv "$to/package-lock.json.new" "$to/package-lock.json"
	for attempt in 1 2 3; do
		if npm ci --prefix "$to" --ignore-scripts --no-audit --no-fund --loglevel=error >&2; then break; fi
		echo "installing the clients failed (attempt $attempt of 3)" >&2
	done
fi
[ -e "$package" ] || exit 1
echo "$package"
