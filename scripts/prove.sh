#!/usr/bin/env bash
# Proves the 25 scenarios on the embedded defaults, and on Kafka, PostgreSQL and a
# Redis Cluster in several processes; MariaDB and Redis where a scenario names them.
# Prints one table and writes build/prove.json.
#
#   prove.sh [-only 5,9] [-column embedded|servers]
set -euo pipefail
here=$(dirname "$0")
export MILLRACE_REQUIRE_SERVICES=1
exec "$here/with-services.sh" postgres mariadb redis rediscluster kafka -- go run ./scripts/prove "$@"
