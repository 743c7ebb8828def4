#!/usr/bin/env bash
# Proves the 27 scenarios on the embedded defaults, and on Kafka, PostgreSQL and a
# Redis Cluster in several processes; MariaDB, MySQL, Redis and pairs of a primary and
# a replica where a scenario names them.
# Prints one table and writes build/prove.json.
#
#   prove.sh [-only 5,9] [-column embedded|servers]
set -euo pipefail
here=$(dirname "$0")
export MILLRACE_REQUIRE_SERVICES=1
export MILLRACE_PAIR=${MILLRACE_PAIR-"$(cd "$here" && pwd)/services.sh pair"}
exec "$here/with-services.sh" postgres mariadb mysql redis rediscluster kafka -- go run ./scripts/prove "$@"
