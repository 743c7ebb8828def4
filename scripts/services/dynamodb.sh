# DynamoDB Local. Its SQLite is native code, which exists for amd64 only: on
# another processor take compose. shellcheck shell=bash disable=SC2154
everything+=(dynamodb)
dynamodb_port=${MILLRACE_DYNAMODB_PORT:-25800}

dynamodb_up() {
	install javac default-jdk-headless
	libraries dynamodb
	if alive dynamodb; then return; fi
	mkdir -p "$dir/dynamodb"
	launch dynamodb env DDB_LOCAL_TELEMETRY=0 java -Xmx256m -XX:+UseSerialGC -Djava.library.path="$dir/jars/dynamodb" -cp "$dir/jars/dynamodb/*" \
		"$here/services/dynamodb/Loopback.java" "$dynamodb_port" "$dir/dynamodb"
	await dynamodb 60 dynamodb_ready
	say "started DynamoDB Local on port $dynamodb_port"
}
# It answers 400 without a sign-in, which curl takes for an answer.
dynamodb_ready() { curl -s "http://127.0.0.1:$dynamodb_port/" | grep -q dynamodb; }
dynamodb_down() { if alive dynamodb; then halt dynamodb "${1:-TERM}" && say 'stopped DynamoDB Local'; fi; }
dynamodb_running() { answers "$dynamodb_port"; }
dynamodb_env() { echo "export MILLRACE_DYNAMODB_URL='http://127.0.0.1:$dynamodb_port'"; }
