# PostgreSQL. shellcheck shell=bash disable=SC2154
everything+=(postgres)
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

# postgres_upgrade makes a folder with the programs of two versions, the machine's own
# and Debian sid's (roots.sh), and prints where they are, for package upgradetest.
postgres_upgrade() {
	local old new folder=$roots/sid lib
	[ -n "$(pg_bin)" ] || install pg_ctl postgresql || [ -n "$(pg_bin)" ]
	old=$(basename "$(dirname "$(pg_bin)")")
	root sid postgresql
	new=$(basename "$(dirname "$(ls -d "$folder"/usr/lib/postgresql/*/bin | sort -V | tail -n 1)")")
	[ "$old" != "$new" ] || { say "this machine's PostgreSQL is $old, and so is that of sid"; return 1; }
	if [ ! -e "$folder/.made/postgresql-$old" ]; then
		mkdir -p "$folder/usr/share/postgresql"
		cp -a "/usr/lib/postgresql/$old" "$folder/usr/lib/postgresql/"
		cp -a "/usr/share/postgresql/$old" "$folder/usr/share/postgresql/"
		# Libraries of which sid has other versions have other names there.
		{ find "/usr/lib/postgresql/$old" -type f \( -perm -u+x -o -name '*.so' \) -exec ldd {} + 2>/dev/null || true; } |
			sed -n 's/.* => \(\/[^ ]*\) (.*/\1/p' | sort -u | while read -r lib; do
			[ -e "$folder$lib" ] || inside sid sh -c 'ldconfig -p | grep -q "^\s*$0 "' "$(basename "$lib")" || cp -L "$lib" "$folder/usr/lib/"
		done
		inside sid ldconfig
		touch "$folder/.made/postgresql-$old"
	fi
	echo "export MILLRACE_PG_OLD=/usr/lib/postgresql/$old/bin MILLRACE_PG_NEW=/usr/lib/postgresql/$new/bin MILLRACE_PG_ROOT=$folder"
}
