# Programs that the tests of deploy run themselves: promtool, which comes with Prometheus
# and checks alert rules, and the proxies that ask a gate. Their servers stay out.
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
	[ -z "$made" ] || rm -f "$policy"
	return "$failed"
}
