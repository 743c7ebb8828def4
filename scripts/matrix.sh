#!/usr/bin/env bash
# Runs the suites that need real servers, refuses skips, and prints a table:
# suites by servers. Tests that need none are in make test. The last tests kill servers
# and start them again.
# SERVERS="rabbitmq postgres" starts these alone, and runs the cells of their columns.
set -euo pipefail
here=$(dirname "$0")
export MILLRACE_REQUIRE_SERVICES=1
export MILLRACE_RESTART=${MILLRACE_RESTART-"$(cd "$here" && pwd)/services.sh restart"}
export MILLRACE_PAIR=${MILLRACE_PAIR-"$(cd "$here" && pwd)/services.sh pair"}
servers=$(go run ./scripts/matrix -start)
if [ -z "$servers" ]; then exec go run ./scripts/matrix "$@"; fi # memory and SQLite
# shellcheck disable=SC2086 # words
exec "$here/with-services.sh" $servers -- go run ./scripts/matrix "$@"
