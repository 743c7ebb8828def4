#!/usr/bin/env bash
# Proves the 29 scenarios on the embedded defaults, and on Kafka, PostgreSQL and a
# Redis Cluster in several processes; MariaDB, MySQL, Redis, RabbitMQ, SQS and pairs of a
# primary and a replica where a scenario names them.
# Prints one table and writes build/prove.json.
#
#   prove.sh [-only 5,9] [-column embedded|servers]
set -euo pipefail
here=$(dirname "$0")
export MILLRACE_REQUIRE_SERVICES=1
export MILLRACE_PAIR=${MILLRACE_PAIR-"$(cd "$here" && pwd)/services.sh pair"}
exec "$here/with-services.sh" postgres mariadb mysql redis rediscluster rabbitmq kafka elasticmq -- go run ./scripts/prove "$@"
