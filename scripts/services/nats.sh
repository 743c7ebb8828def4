# NATS with JetStream, in the version that the tests have in go.mod. shellcheck shell=bash disable=SC2154
everything+=(nats)
nats_port=${MILLRACE_NATS_PORT:-25222}

nats_install() {
	nats_version=$(cd "$here/.." && go list -m -f '{{.Version}}' github.com/nats-io/nats-server/v2)
	nats_server=$dir/bin/$nats_version/nats-server
	[ -x "$nats_server" ] || GOBIN=$(dirname "$nats_server") go install "github.com/nats-io/nats-server/v2@$nats_version" >&2
}
nats_up() {
	nats_install
	if alive nats; then return; fi
	mkdir -p "$dir/nats"
	cat >"$dir/nats.conf" <<-CONF
		listen: "127.0.0.1:$nats_port"
		max_payload: 8MB
		jetstream { store_dir: "$dir/nats" }
	CONF
	launch nats "$nats_server" -c "$dir/nats.conf"
	await nats 30 nats_running
	say "started NATS on port $nats_port"
}
nats_down() { if alive nats; then halt nats "${1:-TERM}" && say 'stopped NATS'; fi; }
nats_running() { answers "$nats_port"; }
nats_env() { echo "export MILLRACE_NATS_URL='nats://127.0.0.1:$nats_port'"; }
