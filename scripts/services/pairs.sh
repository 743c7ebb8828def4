# A primary and an asynchronous replica of a database, for failovers. Both have empty
# data at each start, and are told apart by -1 and -2. shellcheck shell=bash disable=SC2154
pair_port=${MILLRACE_PAIR_PORT:-25441}

# pair up|down NAME
pair() {
	local name=${2:-}
	case $name in
	postgres | mariadb | mysql) ;;
	*) say "a pair is of postgres, mariadb or mysql, not '$name'"; exit 2 ;;
	esac
	mkdir -p "$dir"
	chmod 755 "$dir"
	case ${1:-} in
	up)
		"pair_${name}_down"
		rm -rf "$dir/pair-$name-1" "$dir/pair-$name-2"
		"pair_${name}_up" >&2
		"pair_${name}_url" 1
		"pair_${name}_url" 2
		;;
	down) "pair_${name}_down" >&2 ;;
	freeze | lose)
		[ "$name" != postgres ] || { say "pair $1 is of mariadb and mysql"; exit 2; }
		"pair_$1" "$name" >&2
		;;
	*) say "usage: pair up|down|freeze|lose NAME"; exit 2 ;;
	esac
}

# pair_at NAME NUMBER is the port of a server.
pair_at() {
	case $1 in
	postgres) echo $((pair_port + $2)) ;;
	mariadb) echo $((pair_port + 2 + $2)) ;;
	mysql) echo $((pair_port + 4 + $2)) ;;
	esac
}

pair_postgres_url() { echo "postgres://millrace@127.0.0.1:$(pair_at postgres "$1")/millrace?sslmode=disable"; }
pair_mariadb_url() { echo "mysql://millrace:millrace@127.0.0.1:$(pair_at mariadb "$1")/millrace"; }
pair_mysql_url() { echo "mysql://millrace:millrace@127.0.0.1:$(pair_at mysql "$1")/millrace"; }

pair_postgres_up() {
	local bin one=$dir/pair-postgres-1 two=$dir/pair-postgres-2
	[ -n "$(pg_bin)" ] || install pg_ctl postgresql || [ -n "$(pg_bin)" ]
	bin=$(pg_bin)
	own postgres "$one" "$two"
	chmod 700 "$two"
	as postgres "$bin/initdb" -D "$one" -U millrace -A trust -E UTF8 --no-locale --no-sync >/dev/null
	pair_postgres_start 1
	as postgres "$bin/createdb" -h 127.0.0.1 -p "$(pair_at postgres 1)" -U millrace millrace
	as postgres "$bin/pg_basebackup" -R --no-sync -c fast -D "$two" -h 127.0.0.1 -p "$(pair_at postgres 1)" -U millrace
	pair_postgres_start 2
}

# Commits wait for no replica, and nothing is flushed: no test kills these servers.
pair_postgres_start() {
	local data=$dir/pair-postgres-$1
	as postgres "$(pg_bin)/pg_ctl" -D "$data" -l "$data/server.log" -w -t 60 -o "-c listen_addresses=127.0.0.1 -p $(pair_at postgres "$1") \
		-c unix_socket_directories= -c max_connections=100 -c fsync=off" start >/dev/null
}

pair_postgres_down() {
	local n data
	for n in 2 1; do
		data=$dir/pair-postgres-$n
		postgres_alive "$data" || continue
		as postgres "$(pg_bin)/pg_ctl" -D "$data" -m immediate -w stop >/dev/null || true
	done
}

pair_mariadb_up() {
	local n
	install mariadbd mariadb-server
	pair_accounts
	for n in 1 2; do
		# At its start a server empties its folder of temporary tables, also of other
		# servers' tables.
		own mysql "$dir/pair-mariadb-$n" "$dir/pair-mariadb-$n/tmp"
		TMPDIR=$dir/pair-mariadb-$n/tmp mariadb-install-db --no-defaults --datadir="$dir/pair-mariadb-$n" $(is_root && echo --user=mysql) \
			--auth-root-authentication-method=normal --skip-test-db >"$dir/pair-mariadb-$n.log" 2>&1
	done
	for n in 1 2; do pair_mariadb_start $n; done
	for n in 1 2; do pair_mariadb_answers $n; done
	pair_mariadb_do 2 "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT=$(pair_at mariadb 1), MASTER_USER='millrace',
		MASTER_PASSWORD='millrace', MASTER_USE_GTID=slave_pos; START SLAVE; SET GLOBAL read_only = ON"
}
pair_mariadb_start() {
	local data=$dir/pair-mariadb-$1
	launch "pair-mariadb-$1" mariadbd --no-defaults $(is_root && echo --user=mysql) --datadir="$data" \
		--bind-address=127.0.0.1 --port="$(pair_at mariadb "$1")" --socket="$data/sock" --pid-file="$data/pid" --tmpdir="$data/tmp" \
		--skip-name-resolve --max-connections=200 --init-file="$dir/pair-accounts.sql" \
		--server-id="$1" --log-bin=binlog --binlog-format=ROW --innodb-flush-log-at-trx-commit=2 --sync-binlog=0
}

pair_mariadb_again() { pair_mariadb_start 1 && pair_mariadb_answers 1; }
pair_mariadb_answers() { await "pair-mariadb-$1" 60 pair_mariadb_do "$1" 'SELECT 1'; }
pair_mariadb_do() {
	mariadb --no-defaults --protocol=tcp -h 127.0.0.1 -P "$(pair_at mariadb "$1")" -u millrace -pmillrace -e "$2"
}
pair_mariadb_down() { halt pair-mariadb-2 KILL && halt pair-mariadb-1 KILL; }

pair_mysql_up() {
	local n within account
	mysql_within
	pair_accounts
	for n in 1 2; do mysql_make "$dir/pair-mysql-$n" >"$dir/pair-mysql-$n.log" 2>&1 & done
	wait
	for n in 1 2; do pair_mysql_start $n; done
	for n in 1 2; do await "pair-mysql-$n" 60 mysql_ready "$(pair_at mysql $n)" "${within[@]}"; done
	mysql_do "$(pair_at mysql 2)" "CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT=$(pair_at mysql 1), SOURCE_USER='millrace',
		SOURCE_PASSWORD='millrace', SOURCE_AUTO_POSITION=1, GET_SOURCE_PUBLIC_KEY=1; START REPLICA; SET GLOBAL super_read_only = ON" "${within[@]}"
}
pair_mysql_start() {
	mysql_launch "pair-mysql-$1" "$dir/pair-mysql-$1" "$(pair_at mysql "$1")" "$dir/pair-accounts.sql" --server-id="$1" \
		--max-connections=200 --gtid-mode=ON --enforce-gtid-consistency=ON --innodb-flush-log-at-trx-commit=2 --sync-binlog=0
}
pair_mysql_again() {
	local within account
	mysql_within
	pair_mysql_start 1
	await pair-mysql-1 60 mysql_ready "$(pair_at mysql 1)" "${within[@]}"
}
pair_mysql_down() { halt pair-mysql-2 KILL && halt pair-mysql-1 KILL; }

# pair_freeze copies the primary's data while it stands still.
pair_freeze() {
	local data=$dir/pair-$1-1 pid
	pid=$(cat "$dir/run/pair-$1-1.pid")
	rm -rf "$data.kept"
	kill -STOP "$pid"
	cp -a "$data" "$data.kept"
	kill -CONT "$pid"
}

# pair_lose kills the primary and starts it with the copy.
pair_lose() {
	local data=$dir/pair-$1-1
	halt "pair-$1-1" KILL
	rm -rf "$data"
	mv "$data.kept" "$data"
	rm -f "$data/pid" "$data/sock"
	"pair_$1_again"
}

# pair_accounts writes the statements that each server runs at its start, apart from its
# binary log.
pair_accounts() {
	cat >"$dir/pair-accounts.sql" <<-SQL
		SET sql_log_bin = 0;
		CREATE DATABASE IF NOT EXISTS millrace CHARACTER SET utf8mb4;
		CREATE USER IF NOT EXISTS 'millrace'@'127.0.0.1' IDENTIFIED BY 'millrace';
		GRANT ALL PRIVILEGES ON *.* TO 'millrace'@'127.0.0.1' WITH GRANT OPTION;
	SQL
	chmod 644 "$dir/pair-accounts.sql"
}
