# MariaDB. shellcheck shell=bash disable=SC2154
everything+=(mariadb)
mariadb_port=${MILLRACE_MARIADB_PORT:-25306}

mariadb_up() {
	local data=$dir/mariadb
	install mariadbd mariadb-server
	if alive mariadb; then return; fi
	own mysql "$data"
	if [ ! -d "$data/mysql" ]; then
		mariadb-install-db --no-defaults --datadir="$data" $(is_root && echo --user=mysql) \
			--auth-root-authentication-method=normal --skip-test-db >"$dir/mariadb.log" 2>&1
	fi
	# The account is made at every start: a start that was cut short is made good.
	cat >"$dir/mariadb-init.sql" <<-SQL
		CREATE DATABASE IF NOT EXISTS millrace CHARACTER SET utf8mb4;
		CREATE USER IF NOT EXISTS 'millrace'@'127.0.0.1' IDENTIFIED BY 'millrace';
		GRANT ALL PRIVILEGES ON *.* TO 'millrace'@'127.0.0.1' WITH GRANT OPTION;
	SQL
	chmod 644 "$dir/mariadb-init.sql"
	# When the redo log is full, all writers wait until the pages are written: on a slow disk for
	# longer than a process takes to end. All suites together fill the default of 96 MB.
	launch mariadb mariadbd --no-defaults $(is_root && echo --user=mysql) --datadir="$data" \
		--bind-address=127.0.0.1 --port="$mariadb_port" --socket="$data/sock" --pid-file="$data/pid" \
		--skip-name-resolve --max-connections=400 --init-file="$dir/mariadb-init.sql" \
		--innodb-buffer-pool-size=512M --innodb-log-file-size=512M
	await mariadb 60 mariadb_ready
	say "started MariaDB on port $mariadb_port"
}

mariadb_ready() {
	mariadb --no-defaults --protocol=tcp -h 127.0.0.1 -P "$mariadb_port" -u millrace -pmillrace -e 'SELECT 1' millrace
}
mariadb_down() { if alive mariadb; then halt mariadb "${1:-TERM}" && say 'stopped MariaDB'; fi; }
mariadb_running() { answers "$mariadb_port"; }
mariadb_env() { echo "export MILLRACE_MARIADB_URL='mysql://millrace:millrace@127.0.0.1:$mariadb_port/millrace'"; }
