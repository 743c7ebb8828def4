# Servers of other Debian suites. A suite lives in a folder of its own that debootstrap
# makes, and its programs run in that folder by chroot: real servers of other versions,
# without a container engine.
#
#   root SUITE PACKAGE…    makes the folder, and installs missing packages
#   enter SUITE            sets `within` to the words that run a command there:
#                          launch NAME "${within[@]}" COMMAND…
#   inside SUITE COMMAND…  runs a command there
#
# The machine's /proc, /dev, /tmp, /var/tmp and the folder of the services are mounted
# for each command alone. So paths mean the same inside and outside, nothing stays
# mounted, and `rm -r` of the folder deletes nothing else.
# shellcheck shell=bash disable=SC2154
roots=${MILLRACE_ROOTS_DIR:-$dir/roots}

root() {
	local suite=$1
	shift
	if root_has "$suite" "$@"; then return; fi
	if ! is_root || ! command -v apt-get >/dev/null; then
		say "$* comes from the Debian suite $suite, in a folder that only root on Debian can make."
		say 'Run this as root, or start a Docker daemon, or set the URL of a server that runs already (scripts/with-services.sh names the variables).'
		return 1
	fi
	install debootstrap debootstrap
	mkdir -p "$roots"
	( # one at a time; the second finds what the first one made
		flock 9
		[ -e "$roots/$suite/.made" ] || root_make "$suite"
		root_has "$suite" "$@" || root_install "$suite" "$@"
	) 9>"$roots/$suite.lock"
}

# root_has SUITE PACKAGE… : all of them are installed.
root_has() {
	local suite=$1 package
	shift
	for package in "$@"; do
		[ -e "$roots/$suite/.made/$package" ] || return 1
	done
}

# root_make SUITE makes the folder, from its beginning where an earlier run was cut short.
# Downloads are kept for that. debootstrap's mounts end with it.
root_make() {
	local suite=$1 folder=$roots/$1 mirror
	mirror=$(root_mirror "$suite") || {
		say "no Debian mirror in this machine's apt configuration has the suite $suite"
		return 1
	}
	for attempt in 1 2 3; do
		rm -rf "$folder"
		mkdir -p "$folder" "$roots/cache"
		if http_proxy=${http_proxy:-$(root_proxy http)} https_proxy=${https_proxy:-$(root_proxy https)} \
			unshare -m debootstrap --variant=minbase --include=ca-certificates --cache-dir="$roots/cache" \
			"$suite" "$folder" "$mirror" >"$roots/$suite.log" 2>&1; then
			# A package that is installed there starts no server.
			printf '#!/bin/sh\nexit 101\n' >"$folder/usr/sbin/policy-rc.d"
			chmod 755 "$folder/usr/sbin/policy-rc.d"
			mkdir "$folder/.made"
			rm -rf "$roots/cache"
			say "made $folder"
			return
		fi
		say "making $folder failed (attempt $attempt of 3), see $roots/$suite.log"
	done
	return 1
}

# root_mirror SUITE prints the first address in the machine's apt configuration that has
# the suite. apt itself asks, with its own settings.
root_mirror() {
	local mirror answer
	answer=$(mktemp)
	while read -r mirror; do
		if (cd /tmp && /usr/lib/apt/apt-helper download-file "${mirror%/}/dists/$1/Release" "$answer") >/dev/null 2>&1; then
			rm -f "$answer"
			echo "${mirror%/}"
			return
		fi
	done < <(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -E '^https?://' | sort -u)
	rm -f "$answer"
	return 1
}

root_proxy() { apt-config shell proxy "Acquire::$1::Proxy" | sed "s/^proxy='\(.*\)'$/\1/"; }

# root_configure SUITE gives it the machine's way to the network and the mirror.
root_configure() {
	local folder=$roots/$1 file
	for file in apt/auth.conf apt/auth.conf.d apt/apt.conf apt/apt.conf.d ssl/certs hosts resolv.conf; do
		[ -e "/etc/$file" ] || continue
		mkdir -p "$(dirname "$folder/etc/$file")"
		rm -rf "${folder:?}/etc/$file"
		cp -rL "/etc/$file" "$folder/etc/$file" 2>/dev/null || true # a link that leads nowhere
	done
}

# root_install SUITE PACKAGE… A start script may fail in such a folder, and dpkg ends with
# 1 then: only the unpacked packages count.
root_install() {
	local suite=$1 failed package
	shift
	root_configure "$suite"
	for attempt in 1 2 3; do
		failed=0
		inside "$suite" sh -c 'dpkg --configure -a; apt-get -qq update &&
			DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "$@"; status=$?
			apt-get clean; exit $status' sh "$@" >"$roots/$suite.log" 2>&1 || failed=1
		if inside "$suite" dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" >"$roots/$suite.status" 2>&1 &&
			! grep -qvE ' (installed|unpacked|half-configured|triggers-awaited|triggers-pending)$' "$roots/$suite.status"; then
			[ $failed = 0 ] || say "a script of $* failed in $suite; its programs are there (see $roots/$suite.log)"
			for package in "$@"; do touch "$roots/$suite/.made/$package"; done
			return
		fi
		say "installing $* in $suite failed (attempt $attempt of 3), see $roots/$suite.log"
	done
	return 1
}

enter() {
	within=(unshare -m sh -c 'set -e
		folder=$1 services=$2
		shift 2
		mount --rbind /proc "$folder/proc"
		mount --rbind /dev "$folder/dev"
		for shared in /tmp /var/tmp "$services"; do
			mkdir -p "$folder$shared"
			mount --bind "$shared" "$folder$shared"
		done
		exec chroot "$folder" "$@"' sh "$roots/$1" "$dir")
}

inside() {
	local within
	enter "$1"
	shift
	"${within[@]}" "$@"
}
