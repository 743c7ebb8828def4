#!/usr/bin/env bash
# Starts and stops the real servers that tests and benchmarks run against.
#
#   services.sh up     start what is not running, wait until it answers, print the URLs
#   services.sh down   stop only what `up` started
#   services.sh env    print the URLs as shell exports
#
# Data and logs live in $MILLRACE_SERVICES_DIR (default /var/tmp/millrace-services);
# every server listens on 127.0.0.1 only, on a port of its own.
set -euo pipefail

dir=${MILLRACE_SERVICES_DIR:-/var/tmp/millrace-services}
pg_port=${MILLRACE_POSTGRES_PORT:-25432}

say() { printf '%s\n' "$*" >&2; }

# PostgreSQL refuses to run as root; then its own user runs it.
pg_user() { if [ "$(id -u)" = 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi; }

pg_bin() {
	local found
	found=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
	if [ -z "$found" ] && command -v pg_ctl >/dev/null; then found=$(dirname "$(command -v pg_ctl)"); fi
	printf '%s' "$found"
}

install_postgres() {
	[ -n "$(pg_bin)" ] && return
	if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
		say 'PostgreSQL is not installed. Install it (Debian: apt-get install postgresql) and try again.'
		exit 1
	fi
	for attempt in 1 2 3; do
		if apt-get -qq update >&2 && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y postgresql >&2; then return; fi
		say "installing PostgreSQL failed (attempt $attempt of 3)"
	done
	exit 1
}

postgres_up() {
	install_postgres
	local bin data; bin=$(pg_bin); data=$dir/postgres
	if [ ! -f "$data/PG_VERSION" ]; then
		mkdir -p "$data"
		[ "$(id -u)" = 0 ] && chown postgres "$dir" "$data"
		pg_user "$bin/initdb" -D "$data" -U millrace -A trust -E UTF8 --no-locale >/dev/null
		cat >>"$data/postgresql.conf" <<-CONF
			listen_addresses = '127.0.0.1'
			port = $pg_port
			unix_socket_directories = ''
			max_connections = 200
			shared_preload_libraries = 'pg_stat_statements'
			max_prepared_transactions = 10
		CONF
	fi
	if ! pg_user "$bin/pg_ctl" -D "$data" status >/dev/null; then
		pg_user "$bin/pg_ctl" -D "$data" -l "$data/server.log" -w -t 60 start >/dev/null
		say "started PostgreSQL on port $pg_port"
	fi
	pg_user "$bin/psql" -h 127.0.0.1 -p "$pg_port" -U millrace -d postgres -Atqc \
		"SELECT 1 FROM pg_database WHERE datname = 'millrace'" | grep -q 1 ||
		pg_user "$bin/createdb" -h 127.0.0.1 -p "$pg_port" -U millrace millrace
}

postgres_down() {
	local bin data; bin=$(pg_bin); data=$dir/postgres
	[ -n "$bin" ] && [ -f "$data/postmaster.pid" ] || return 0
	pg_user "$bin/pg_ctl" -D "$data" -m fast -w stop >/dev/null && say 'stopped PostgreSQL'
}

print_env() {
	echo "export MILLRACE_POSTGRES_URL='postgres://millrace@127.0.0.1:$pg_port/millrace?sslmode=disable'"
}

case ${1:-} in
up) mkdir -p "$dir"; chmod 755 "$dir"; postgres_up; print_env ;;
down) postgres_down ;;
env) print_env ;;
*) say "usage: $0 up | down | env"; exit 2 ;;
esac
