# Apache Kafka in KRaft mode: one broker, and three on request.
# shellcheck shell=bash disable=SC2154
everything+=(kafka) on_request+=(kafka3)
kafka_port=${MILLRACE_KAFKA_PORT:-25092}
kafka3_ports=(25192 25292 25392)

# kafka_launch NAME NODE REPLICAS VOTERS: a broker and controller on PORT and PORT+1,
# the port being the voter's less one.
kafka_launch() {
	local name=$1 node=$2 replicas=$3 voters=$4 port=$5 data=$dir/$1
	local run=(java -Xmx512m -Xms128m -XX:+UseSerialGC -Dorg.slf4j.simpleLogger.defaultLogLevel=warn -cp "$dir/jars/kafka/*")
	if alive "$name"; then return; fi
	mkdir -p "$data"
	cat >"$data/server.properties" <<-CONF
		process.roles=broker,controller
		node.id=$node
		controller.quorum.voters=$voters
		controller.listener.names=CONTROLLER
		listeners=PLAINTEXT://127.0.0.1:$port,CONTROLLER://127.0.0.1:$((port + 1))
		advertised.listeners=PLAINTEXT://127.0.0.1:$port
		listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
		log.dirs=$data/data
		auto.create.topics.enable=false
		num.partitions=3
		offsets.topic.replication.factor=$replicas
		offsets.topic.num.partitions=10
		transaction.state.log.replication.factor=$replicas
		transaction.state.log.min.isr=1
		group.initial.rebalance.delay.ms=0
		# A killed broker may come back before its last life has timed out.
		broker.session.timeout.ms=4000
		broker.heartbeat.interval.ms=500
	CONF
	if [ ! -f "$data/data/meta.properties" ]; then
		"${run[@]}" kafka.tools.StorageTool format -t MillraceMillraceMillrA -c "$data/server.properties" >"$dir/$name.log" 2>&1 || {
			tail -n 5 "$dir/$name.log" >&2
			return 1
		}
	fi
	launch "$name" "${run[@]}" kafka.Kafka "$data/server.properties"
}

kafka_up() {
	libraries kafka
	if alive kafka && kafka_running; then return; fi
	kafka_launch kafka 1 1 "1@127.0.0.1:$((kafka_port + 1))" "$kafka_port"
	await kafka 90 answers "$kafka_port"
	say "started Kafka on port $kafka_port"
}
kafka_down() { if alive kafka; then halt kafka "${1:-TERM}" && say 'stopped Kafka'; fi; }
kafka_running() { answers "$kafka_port"; }
kafka_env() { echo "export MILLRACE_KAFKA_BROKERS='127.0.0.1:$kafka_port'"; }

kafka3_voters() {
	local node voters=''
	for node in 1 2 3; do voters+="${voters:+,}$node@127.0.0.1:$((kafka3_ports[node - 1] + 1))"; done
	echo "$voters"
}

# kafka3_node NODE starts one of the three.
kafka3_node() {
	kafka_launch "kafka3-$1" "$1" 3 "$(kafka3_voters)" "${kafka3_ports[$1 - 1]}"
}

kafka3_up() {
	local node
	libraries kafka
	for node in 1 2 3; do kafka3_node "$node"; done
	for node in 1 2 3; do await "kafka3-$node" 120 answers "${kafka3_ports[node - 1]}"; done
	say "started three Kafka brokers on ports ${kafka3_ports[*]}"
}

# One of the three by itself, to be restarted.
for node in 1 2 3; do
	eval "kafka3-${node}_up() { kafka3_node $node && await kafka3-$node 120 answers ${kafka3_ports[node - 1]}; }"
	eval "kafka3-${node}_down() { halt kafka3-$node \"\$@\"; }"
done

# The last two cannot leave in order without a majority; one after another each
# would wait for it, so they are ended together.
kafka3_down() {
	local node stopped=''
	for node in 1 2 3; do
		if alive "kafka3-$node"; then halt "kafka3-$node" "${1:-TERM}" & stopped=1; fi
	done
	[ -z "$stopped" ] || { wait && say 'stopped three Kafka brokers'; }
}
kafka3_running() { answers "${kafka3_ports[0]}"; }
kafka3_env() {
	local list
	list=$(printf ',127.0.0.1:%s' "${kafka3_ports[@]}")
	echo "export MILLRACE_KAFKA3_BROKERS='${list#,}'"
}
