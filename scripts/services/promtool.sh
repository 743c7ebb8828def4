# promtool, with which the tests of deploy check alert rules. It comes with Prometheus,
# whose server stays out. shellcheck shell=bash disable=SC2154
promtool_install() {
	local policy=/usr/sbin/policy-rc.d made='' failed=0
	if command -v promtool >/dev/null; then return; fi
	# Debian starts what it installs, unless this file says that it is not allowed (101).
	if is_root && [ -d "${policy%/*}" ] && [ ! -e "$policy" ]; then
		printf '#!/bin/sh\nexit 101\n' >"$policy"
		chmod 755 "$policy"
		made=1
	fi
	install promtool prometheus || failed=1
	[ -z "$made" ] || rm -f "$policy"
	return "$failed"
}
