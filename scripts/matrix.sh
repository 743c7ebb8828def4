#!/usr/bin/env bash
# Runs the suites that need real servers, refuses skips, and prints a table:
# suites by servers. The last tests kill servers and start them again.
set -euo pipefail
here=$(dirname "$0")
export MILLRACE_REQUIRE_SERVICES=1
export MILLRACE_RESTART=${MILLRACE_RESTART-"$(cd "$here" && pwd)/services.sh restart"}
exec "$here/with-services.sh" kafka3 connect postgres mariadb redis rediscluster rabbitmq kafka elasticmq dynamodb -- go run ./scripts/matrix "$@"
