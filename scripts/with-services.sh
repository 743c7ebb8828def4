#!/usr/bin/env bash
# Runs a command with real servers up and their URLs in the environment.
#
#   with-services.sh [NAME…] -- COMMAND…
#
# Without a NAME all that services.sh starts by itself. A server whose URL is set
# already is not started, and the URL is kept.
set -euo pipefail
here=$(dirname "$0")
declare -A variable=(
	[postgres]=MILLRACE_POSTGRES_URL [pgbouncer]=MILLRACE_PGBOUNCER_URL [mariadb]=MILLRACE_MARIADB_URL [mysql]=MILLRACE_MYSQL_URL [redis]=MILLRACE_REDIS_URL
	[rediscluster]=MILLRACE_REDIS_CLUSTER [rabbitmq]=MILLRACE_RABBITMQ_URL [kafka]=MILLRACE_KAFKA_BROKERS [nats]=MILLRACE_NATS_URL
	[elasticmq]=MILLRACE_SQS_ENDPOINT [dynamodb]=MILLRACE_DYNAMODB_URL [kafka3]=MILLRACE_KAFKA3_BROKERS [connect]=MILLRACE_CONNECT_URL
)
names=()
while [ "$1" != -- ]; do
	names+=("$1")
	shift
done
shift
[ ${#names[@]} -gt 0 ] || names=(postgres pgbouncer mariadb mysql redis rediscluster rabbitmq kafka nats elasticmq dynamodb)
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
