# RabbitMQ. shellcheck shell=bash disable=SC2154
everything+=(rabbitmq)
rabbitmq_port=${MILLRACE_RABBITMQ_PORT:-25673}
rabbitmq_dist_port=$((rabbitmq_port + 1))
rabbitmq_epmd_port=$((rabbitmq_port + 2))

# rabbitmq_settings prints the environment of the node and its tools. Erlang's
# port mapper is started by the first node and outlives it: with a port of its
# own it is ours to stop.
rabbitmq_settings() {
	printf '%s\n' HOME="$dir/rabbitmq" ERL_EPMD_ADDRESS=127.0.0.1 ERL_EPMD_PORT="$rabbitmq_epmd_port" \
		RABBITMQ_NODENAME=millrace@localhost RABBITMQ_NODE_IP_ADDRESS=127.0.0.1 \
		RABBITMQ_NODE_PORT="$rabbitmq_port" RABBITMQ_DIST_PORT="$rabbitmq_dist_port" \
		RABBITMQ_MNESIA_BASE="$dir/rabbitmq/data" RABBITMQ_LOG_BASE="$dir/rabbitmq/log" \
		RABBITMQ_CONFIG_FILE="$dir/rabbitmq/rabbitmq.conf" RABBITMQ_ENABLED_PLUGINS_FILE="$dir/rabbitmq/plugins" \
		RABBITMQ_PID_FILE="$dir/rabbitmq/pid" RABBITMQ_CONF_ENV_FILE=/dev/null \
		RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS='-kernel inet_dist_use_interface {127,0,0,1}'
}

rabbitmq_up() {
	local settings become=()
	install rabbitmq-server rabbitmq-server || [ -x /usr/lib/rabbitmq/bin/rabbitmq-server ]
	if is_root; then become=(runuser -u rabbitmq --); fi
	if rabbitmq_running && rabbitmq_alive; then return; fi
	own rabbitmq "$dir/rabbitmq" "$dir/rabbitmq/data" "$dir/rabbitmq/log"
	cat >"$dir/rabbitmq/rabbitmq.conf" <<-CONF
		listeners.tcp.default = 127.0.0.1:$rabbitmq_port
		default_user = millrace
		default_pass = millrace
		loopback_users = none
		# A machine with little free memory must not stop the publishers.
		vm_memory_high_watermark.relative = 0.8
	CONF
	echo '[].' >"$dir/rabbitmq/plugins"
	mapfile -t settings < <(rabbitmq_settings)
	# With the usual 1,024 open files it accepts no connection once it has 460 quorum queues.
	# shellcheck disable=SC2016
	launch rabbitmq ${become[@]+"${become[@]}"} env "${settings[@]}" \
		sh -c 'ulimit -Sn "$(ulimit -Hn)" && exec /usr/lib/rabbitmq/bin/rabbitmq-server'
	await rabbitmq 90 rabbitmq_greets
	say "started RabbitMQ on port $rabbitmq_port"
}

# The node writes its own pid; the shell that started it is not it.
rabbitmq_alive() { local pid; pid=$(cat "$dir/rabbitmq/pid" 2>/dev/null) && ps -o args= -p "$pid" 2>/dev/null | grep -qF "$dir"; }

rabbitmq_down() {
	local pid
	if rabbitmq_alive; then
		pid=$(cat "$dir/rabbitmq/pid")
		end RabbitMQ "$pid" "${1:-TERM}"
		rm -f "$dir/rabbitmq/pid" "$dir/run/rabbitmq.pid"
		say 'stopped RabbitMQ'
	fi
	if [ "${1:-}" != KILL ] && command -v epmd >/dev/null && [ -d "$dir/rabbitmq" ]; then
		ERL_EPMD_PORT=$rabbitmq_epmd_port epmd -kill >/dev/null 2>&1 || true
	fi
}
# rabbitmq_greets: it answers the header of the protocol, as a client needs it to.
rabbitmq_greets() {
	(
		exec 3<>"/dev/tcp/127.0.0.1/$rabbitmq_port"
		printf 'AMQP\0\0\11\1' >&3
		[ -n "$(timeout 10 head -c 1 <&3 | tr '\0' 1)" ]
	) 2>/dev/null
}
rabbitmq_running() { answers "$rabbitmq_port"; }
rabbitmq_env() { echo "export MILLRACE_RABBITMQ_URL='amqp://millrace:millrace@127.0.0.1:$rabbitmq_port/'"; }
