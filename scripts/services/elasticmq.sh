# ElasticMQ, which speaks Amazon SQS. shellcheck shell=bash disable=SC2154
everything+=(elasticmq)
elasticmq_port=${MILLRACE_SQS_PORT:-25324}

elasticmq_up() {
	libraries elasticmq
	if alive elasticmq; then return; fi
	cat >"$dir/elasticmq.conf" <<-CONF
		include classpath("application.conf")
		rest-sqs { bind-hostname = "127.0.0.1", bind-port = $elasticmq_port }
		node-address { protocol = http, host = "127.0.0.1", port = $elasticmq_port, context-path = "" }
		rest-stats.enabled = false
	CONF
	launch elasticmq java -Xmx256m -XX:+UseSerialGC -Dconfig.file="$dir/elasticmq.conf" -cp "$dir/jars/elasticmq/*" org.elasticmq.server.Main
	await elasticmq 60 answers "$elasticmq_port"
	say "started ElasticMQ on port $elasticmq_port"
}
elasticmq_down() { if alive elasticmq; then halt elasticmq "${1:-TERM}" && say 'stopped ElasticMQ'; fi; }
elasticmq_running() { answers "$elasticmq_port"; }
elasticmq_env() { echo "export MILLRACE_SQS_ENDPOINT='http://127.0.0.1:$elasticmq_port'"; }
