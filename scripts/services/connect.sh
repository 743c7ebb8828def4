# Kafka Connect, standalone, with Debezium's connectors for PostgreSQL and MySQL; on request.
# It needs kafka. Connectors are made through its REST interface.
# shellcheck shell=bash disable=SC2154
on_request+=(connect)
connect_port=${MILLRACE_CONNECT_PORT:-25083}

connect_up() {
	libraries connect
	if alive connect; then return; fi
	await kafka 90 answers "$kafka_port"
	mkdir -p "$dir/connect"
	cat >"$dir/connect/worker.properties" <<-CONF
		bootstrap.servers=127.0.0.1:$kafka_port
		listeners=http://127.0.0.1:$connect_port
		key.converter=org.apache.kafka.connect.storage.StringConverter
		value.converter=org.apache.kafka.connect.converters.ByteArrayConverter
		offset.storage.file.filename=$dir/connect/offsets
		offset.flush.interval.ms=1000
		plugin.discovery=only_scan
		config.providers=env
		config.providers.env.class=org.apache.kafka.common.config.provider.EnvVarConfigProvider
	CONF
	# PostgreSQL wants no password.
	MILLRACE_DEBEZIUM_PASSWORD=millrace launch connect java -Xmx512m -XX:+UseSerialGC -Dorg.slf4j.simpleLogger.defaultLogLevel=warn \
		-cp "$dir/jars/connect/*" org.apache.kafka.connect.cli.ConnectStandalone "$dir/connect/worker.properties"
	await connect 120 curl -fs "http://127.0.0.1:$connect_port/connectors"
	say "started Kafka Connect on port $connect_port"
}
connect_down() { if alive connect; then halt connect "${1:-TERM}" && say 'stopped Kafka Connect'; fi; }
connect_running() { answers "$connect_port"; }
# The connectors meet the servers where they run themselves.
connect_env() {
	local postgres=127.0.0.1:$postgres_port mysql=127.0.0.1:$mysql_port brokers=127.0.0.1:$kafka_port
	if with_compose; then postgres=postgres:5432 mysql=mysql:3306 brokers=kafka:29092; fi
	echo "export MILLRACE_CONNECT_URL='http://127.0.0.1:$connect_port'"
	echo "export MILLRACE_CONNECT_POSTGRES='$postgres'"
	echo "export MILLRACE_CONNECT_MYSQL='$mysql'"
	echo "export MILLRACE_CONNECT_BROKERS='$brokers'"
}
