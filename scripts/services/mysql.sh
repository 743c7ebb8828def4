# MySQL 9: a mysqld of that version on the PATH, else that of Debian sid (see roots.sh).
# shellcheck shell=bash disable=SC2154
everything+=(mysql)
mysql_port=${MILLRACE_MYSQL_PORT:-25307}

mysql_on_path() { command -v mysqld >/dev/null && mysqld --version 2>/dev/null | grep -q ' Ver 9\.'; }

# mysql_within sets `within` to the words that run MySQL's programs, and `account` to
# its server's account, and installs missing packages.
mysql_within() {
	within=() account=()
	if ! mysql_on_path; then
		root sid mysql-server-core mysql-client-core
		enter sid
		# The core package makes no account; another run may make it at the same time.
		"${within[@]}" id mysql >/dev/null 2>&1 || "${within[@]}" useradd -r -M -s /usr/sbin/nologin mysql || "${within[@]}" id mysql >/dev/null
	fi
	if is_root; then account=(--user=mysql); fi
}

# mysql_make FOLDER makes the data of a new server.
mysql_make() {
	mkdir -p "$1"
	if is_root; then "${within[@]}" chown mysql "$1"; fi
	# Without secure-file-priv the package's folder would have to be there.
	"${within[@]}" mysqld --no-defaults "${account[@]}" --initialize-insecure --secure-file-priv=NULL --datadir="$1"
}

# mysql_launch NAME FOLDER PORT INIT-FILE OPTION… starts a server.
mysql_launch() {
	local name=$1 data=$2 port=$3 init=$4
	shift 4
	launch "$name" "${within[@]}" mysqld --no-defaults "${account[@]}" --datadir="$data" \
		--bind-address=127.0.0.1 --port="$port" --socket="$data/sock" --pid-file="$data/pid" --mysqlx=OFF \
		--secure-file-priv=NULL --skip-name-resolve --init-file="$init" "$@"
}

mysql_up() {
	local data=$dir/mysql within account
	if alive mysql; then return; fi
	mysql_within
	if [ ! -e "$data/mysql.ibd" ] || [ ! -e "$data/private_key.pem" ]; then mysql_make "$data" >"$dir/mysql.log" 2>&1; fi
	# The account is made at every start: a start that was cut short is made good.
	cat >"$dir/mysql-init.sql" <<-SQL
		CREATE DATABASE IF NOT EXISTS millrace CHARACTER SET utf8mb4;
		CREATE USER IF NOT EXISTS 'millrace'@'127.0.0.1' IDENTIFIED BY 'millrace';
		GRANT ALL PRIVILEGES ON *.* TO 'millrace'@'127.0.0.1' WITH GRANT OPTION;
	SQL
	chmod 644 "$dir/mysql-init.sql"
	# The binary log serves change data capture. The flushes of a commit are the server's
	# defaults, as `millrace doctor` asks. The redo log is large, as MariaDB's.
	mysql_launch mysql "$data" "$mysql_port" "$dir/mysql-init.sql" --max-connections=400 \
		--innodb-buffer-pool-size=512M --loose-innodb-redo-log-capacity=512M --binlog-expire-logs-seconds=3600
	await mysql 60 mysql_ready "$mysql_port" "${within[@]}"
	say "started MySQL on port $mysql_port"
}

# mysql_ready PORT COMMAND… : the server on the port answers a client that the command runs.
mysql_ready() { mysql_do "$1" 'SELECT 1' "${@:2}"; }

# mysql_do PORT STATEMENTS COMMAND…
mysql_do() {
	MYSQL_PWD=millrace "${@:3}" mysql --no-defaults --protocol=tcp -h 127.0.0.1 -P "$1" -u millrace -e "$2" millrace
}
mysql_down() { if alive mysql; then halt mysql "${1:-TERM}" && say 'stopped MySQL'; fi; }
mysql_running() { answers "$mysql_port"; }
mysql_env() { echo "export MILLRACE_MYSQL_URL='mysql://millrace:millrace@127.0.0.1:$mysql_port/millrace'"; }
