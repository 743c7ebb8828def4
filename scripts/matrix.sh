#!/usr/bin/env bash
# Runs the suites that need real servers, refuses skips, and prints a table:
# package, tests passed, n/a, failed.
set -euo pipefail
here=$(dirname "$0")
export MILLRACE_REQUIRE_SERVICES=1
exec "$here/with-services.sh" kafka3 connect postgres mariadb redis rediscluster rabbitmq kafka elasticmq -- go run ./scripts/matrix "$@"
