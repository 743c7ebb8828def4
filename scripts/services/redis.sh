# Redis: one server, and a cluster of three masters. shellcheck shell=bash disable=SC2154
everything+=(redis rediscluster)
redis_port=${MILLRACE_REDIS_PORT:-25379}
# The nodes talk to each other on ports 10,000 higher, which must not be among those
# that the system gives to outgoing connections (from 32,768 on).
rediscluster_ports=(15381 15382 15383)

redis_launch() { # NAME PORT OPTION…
	local name=$1 port=$2
	shift 2
	mkdir -p "$dir/$name"
	launch "$name" redis-server --port "$port" --bind 127.0.0.1 --dir "$dir/$name" \
		--appendonly yes --save '' --loglevel notice --daemonize no \
		--proc-title-template '{title} {listen-addr} {server-mode} millrace' "$@" # `alive` looks for the name
	await "$name" 30 redis_ready "$port"
}
redis_ready() { redis-cli -h 127.0.0.1 -p "$1" ping | grep -q PONG; }

redis_up() {
	install redis-server redis-server
	if alive redis; then return; fi
	redis_launch redis "$redis_port"
	say "started Redis on port $redis_port"
}
redis_down() { if alive redis; then halt redis "${1:-TERM}" && say 'stopped Redis'; fi; }
redis_running() { answers "$redis_port"; }
redis_env() { echo "export MILLRACE_REDIS_URL='redis://127.0.0.1:$redis_port/0'"; }

rediscluster_up() {
	local port nodes=()
	install redis-server redis-server
	if rediscluster_running && rediscluster_ready; then return; fi
	for port in "${rediscluster_ports[@]}"; do
		nodes+=("127.0.0.1:$port")
		alive "rediscluster-$port" || redis_launch "rediscluster-$port" "$port" --cluster-enabled yes --cluster-node-timeout 2000
	done
	if ! rediscluster_ready; then
		redis-cli -p "${rediscluster_ports[0]}" cluster info | grep -q 'cluster_known_nodes:1' &&
			redis-cli --cluster create "${nodes[@]}" --cluster-yes >>"$dir/rediscluster-${rediscluster_ports[0]}.log"
		await "rediscluster-${rediscluster_ports[0]}" 30 rediscluster_ready
	fi
	say "started a Redis Cluster on ports ${rediscluster_ports[*]}"
}
rediscluster_ready() {
	local port
	for port in "${rediscluster_ports[@]}"; do
		redis-cli -h 127.0.0.1 -p "$port" cluster info | grep -q 'cluster_state:ok' || return 1
		redis-cli -h 127.0.0.1 -p "$port" cluster info | grep -q 'cluster_slots_ok:16384' || return 1
	done
}
rediscluster_down() {
	local port stopped=''
	for port in "${rediscluster_ports[@]}"; do
		if alive "rediscluster-$port"; then halt "rediscluster-$port" "${1:-TERM}" && stopped=1; fi
	done
	[ -z "$stopped" ] || say 'stopped the Redis Cluster'
}
rediscluster_running() { answers "${rediscluster_ports[0]}"; }
rediscluster_env() {
	local list
	list=$(printf ',127.0.0.1:%s' "${rediscluster_ports[@]}")
	echo "export MILLRACE_REDIS_CLUSTER='${list#,}'"
}
