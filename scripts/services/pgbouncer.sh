# PgBouncer in transaction mode, before the PostgreSQL of postgres.sh. Each account of that server
# may connect. shellcheck shell=bash disable=SC2154
everything+=(pgbouncer)
pgbouncer_port=${MILLRACE_PGBOUNCER_PORT:-25433}

pgbouncer_up() {
	install pgbouncer pgbouncer
	if alive pgbouncer; then return; fi
	local folder=$dir/pgbouncer account=()
	own postgres "$folder"
	if is_root; then account=(-u postgres); fi # it refuses to run as root
	echo '"millrace" ""' >"$folder/accounts"
	cat >"$folder/pgbouncer.ini" <<-INI
		[databases]
		* = host=127.0.0.1 port=$postgres_port
		[pgbouncer]
		listen_addr = 127.0.0.1
		listen_port = $pgbouncer_port
		unix_socket_dir =
		pool_mode = transaction
		auth_type = trust
		auth_file = $folder/accounts
		auth_user = millrace
		max_client_conn = 1000
		default_pool_size = 20
		max_db_connections = 100
		server_idle_timeout = 5
	INI
	launch pgbouncer pgbouncer "${account[@]}" "$folder/pgbouncer.ini"
	await pgbouncer 30 pgbouncer_running
	say "started PgBouncer on port $pgbouncer_port"
}
pgbouncer_down() { if alive pgbouncer; then halt pgbouncer "${1:-INT}" && say 'stopped PgBouncer'; fi; }
pgbouncer_running() { answers "$pgbouncer_port"; }
pgbouncer_env() { echo "export MILLRACE_PGBOUNCER_URL='postgres://millrace@127.0.0.1:$pgbouncer_port/millrace?sslmode=disable&default_query_exec_mode=exec'"; }
