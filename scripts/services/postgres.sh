# PostgreSQL. shellcheck shell=bash disable=SC2154
postgres_port=${MILLRACE_POSTGRES_PORT:-25432}

pg_bin() {
	local found
	found=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
	if [ -z "$found" ] && command -v pg_ctl >/dev/null; then found=$(dirname "$(command -v pg_ctl)"); fi
	printf '%s' "$found"
}

postgres_up() {
	local bin data=$dir/postgres
	[ -n "$(pg_bin)" ] || install pg_ctl postgresql || [ -n "$(pg_bin)" ]
	bin=$(pg_bin)
	if [ ! -f "$data/PG_VERSION" ]; then
		own postgres "$data"
		as postgres "$bin/initdb" -D "$data" -U millrace -A trust -E UTF8 --no-locale >/dev/null
	fi
	if ! as postgres "$bin/pg_ctl" -D "$data" status >/dev/null; then
		# Logical decoding serves change data capture; it costs nothing otherwise.
		as postgres "$bin/pg_ctl" -D "$data" -l "$data/server.log" -w -t 60 -o "-c listen_addresses=127.0.0.1 -p $postgres_port \
			-c unix_socket_directories= -c max_connections=300 -c shared_preload_libraries=pg_stat_statements \
			-c max_prepared_transactions=10 -c wal_level=logical" start >/dev/null
		say "started PostgreSQL on port $postgres_port"
	fi
	as postgres "$bin/psql" -h 127.0.0.1 -p "$postgres_port" -U millrace -d postgres -Atqc \
		"SELECT 1 FROM pg_database WHERE datname = 'millrace'" | grep -q 1 ||
		as postgres "$bin/createdb" -h 127.0.0.1 -p "$postgres_port" -U millrace millrace
}

# postgres_alive FOLDER: the server with these data runs. One that was killed leaves its
# postmaster.pid, and another program may have that pid by now.
postgres_alive() {
	local pid
	pid=$(head -n 1 "$1/postmaster.pid" 2>/dev/null) && ps -o args= -p "$pid" 2>/dev/null | grep -qF -e "$1"
}

postgres_down() {
	local data=$dir/postgres mode=fast
	postgres_alive "$data" || return 0
	[ "${1:-}" = KILL ] && mode=immediate
	as postgres "$(pg_bin)/pg_ctl" -D "$data" -m "$mode" -w stop >/dev/null && say 'stopped PostgreSQL'
}

postgres_running() { answers "$postgres_port"; }
postgres_env() { echo "export MILLRACE_POSTGRES_URL='postgres://millrace@127.0.0.1:$postgres_port/millrace?sslmode=disable'"; }
