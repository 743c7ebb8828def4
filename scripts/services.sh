#!/usr/bin/env bash
# Starts and stops the real servers that tests and benchmarks run against.
#
#   services.sh up [NAME…]   start the servers, wait until they answer, print the URLs
#   services.sh down [NAME…] stop the servers that `up` started
#   services.sh env          print the URLs as shell exports
#   services.sh list         print each NAME, and the variable of its URL; a third word marks
#                            those that are started on request only
#   services.sh restart NAME end a server as a crash would (kill -9) and start it again;
#                            kafka3-1, kafka3-2 and kafka3-3 are one broker each
#   services.sh pair up NAME start a primary and an asynchronous replica of postgres, mariadb
#                            or mysql with empty data and print their URLs; pair down NAME
#   services.sh upgrade      install two versions of PostgreSQL in one folder and print where
#   services.sh inside SUITE COMMAND… run a program of another Debian suite (services/roots.sh)
#
# Without a NAME: all of the list that are not on request.
# On request: kafka3 (three brokers), connect (Kafka Connect with Debezium).
#
# Where a Docker daemon answers, compose.yaml serves them. Elsewhere they are
# Debian packages (installed by apt-get where it may; those of another Debian suite in a
# folder of its own), jars from Maven Central, or Go modules: services/*.sh has a file for each,
# which adds its names to the list. MILLRACE_SERVICES=compose or =native decides it. Both use the
# same ports and credentials.
#
# Data and logs live in $MILLRACE_SERVICES_DIR (default /var/tmp/millrace-services);
# `up` starts a server that does not run with empty data, `restart` kills it and keeps them;
# every server listens on 127.0.0.1 only, on a port of its own.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
dir=${MILLRACE_SERVICES_DIR:-/var/tmp/millrace-services}
everything=() on_request=() # services/*.sh adds to both

say() { printf '%s\n' "$*" >&2; }
is_root() { [ "$(id -u)" = 0 ]; }

# as USER COMMAND… runs a command as a user of its own where we are root.
as() {
	local user=$1
	shift
	if is_root; then runuser -u "$user" -- "$@"; else "$@"; fi
}

# own USER FOLDER… makes folders that the user may write.
own() {
	local user=$1
	shift
	mkdir -p "$@"
	if is_root; then chown "$user" "$@"; fi
}

# install COMMAND PACKAGE… makes sure that a command is there.
install() {
	local command=$1
	shift
	if command -v "$command" >/dev/null || [ -x "$command" ]; then return; fi
	if ! is_root || ! command -v apt-get >/dev/null; then
		say "$command is not installed (Debian: apt-get install $*)"
		return 1
	fi
	( # one apt-get at a time
		flock 9
		for attempt in 1 2 3; do
			if command -v "$command" >/dev/null; then exit 0; fi
			if apt-get -qq update >&2 &&
				DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "$@" >"$dir/apt.log" 2>&1; then exit 0; fi
			say "installing $* failed (attempt $attempt of 3), see $dir/apt.log"
		done
		exit 1
	) 9>"$dir/apt.lock"
}

# libraries NAME fetches the jars that NAME/pom.xml asks for.
libraries() {
	local name=$1 into=$dir/jars/$1 pom=$here/services/$1/pom.xml
	if cmp -s "$pom" "$into/pom.xml"; then return; fi
	install java default-jre-headless
	install mvn maven
	for attempt in 1 2 3; do
		rm -rf "$into"
		mkdir -p "$into"
		if mvn -q -B -f "$pom" dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$into" >"$dir/maven-$name.log" 2>&1; then
			cp "$pom" "$into/pom.xml"
			return
		fi
		say "fetching the jars of $name failed (attempt $attempt of 3), see $dir/maven-$name.log"
	done
	return 1
}

# launch NAME COMMAND… starts a server in the background, apart from this shell.
launch() {
	local name=$1
	shift
	mkdir -p "$dir/run"
	setsid nohup "$@" >>"$dir/$name.log" 2>&1 </dev/null &
	echo $! >"$dir/run/$name.pid"
}

# alive NAME: the server that `launch` started runs. A pid that was given to
# another program since does not count.
alive() {
	local pid
	pid=$(cat "$dir/run/$1.pid" 2>/dev/null) && ps -o args= -p "$pid" 2>/dev/null | grep -qF -e "$dir" -e "millrace"
}

# halt NAME [SIGNAL] ends a server and waits for it; one that does not end in
# 20 seconds is killed.
halt() {
	local pid
	alive "$1" || { rm -f "$dir/run/$1.pid"; return 0; }
	pid=$(cat "$dir/run/$1.pid")
	end "$1" "$pid" "${2:-TERM}"
	rm -f "$dir/run/$1.pid"
}

# end NAME PID SIGNAL does it for a pid.
end() {
	kill "-$3" "$2"
	for _ in $(seq 200); do
		kill -0 "$2" 2>/dev/null || return 0
		sleep 0.1
	done
	say "$1 (pid $2) does not end, killing it"
	kill -KILL "$2" 2>/dev/null || true
}

# answers PORT: a server listens there.
answers() { (: >"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# await NAME SECONDS COMMAND… waits until the command succeeds.
await() {
	local name=$1 limit=$(($2 * 10))
	shift 2
	for _ in $(seq "$limit"); do
		if "$@" >/dev/null 2>&1; then return; fi
		sleep 0.1
	done
	say "$name does not answer; the end of $dir/$name.log:"
	tail -n 20 "$dir/$name.log" >&2 || true
	return 1
}

for part in "$here"/services/*.sh; do
	# shellcheck source=/dev/null
	. "$part"
done

with_compose() {
	case ${MILLRACE_SERVICES:-} in
	compose) return 0 ;;
	native) return 1 ;;
	'') command -v docker >/dev/null && docker info >/dev/null 2>&1 ;;
	*) say "MILLRACE_SERVICES is '$MILLRACE_SERVICES'; give compose or native"; exit 2 ;;
	esac
}
compose() { docker compose -f "$here/../compose.yaml" --profile kafka3 --profile connect "$@"; }

# print_env prints the running servers; those that were not asked for are not exported.
print_env() {
	local name
	for name in "${everything[@]}" "${on_request[@]}"; do
		if "${name}_running"; then "${name}_env"; fi
	done
}

# list prints the names with the first variable of each.
list() {
	local name line
	for name in "${everything[@]}" "${on_request[@]}"; do
		read -r _ line < <("${name}_env")
		line=${line%%=*}
		case " ${on_request[*]} " in *" $name "*) line+=' on-request' ;; esac
		echo "$name $line"
	done
}

check() {
	local name
	for name in "$@"; do
		case " ${everything[*]} ${on_request[*]} " in
		*" $name "*) ;;
		*) say "there is no server $name; there are: ${everything[*]} ${on_request[*]}"; exit 2 ;;
		esac
	done
}

up() {
	local names=() name pids=() failed=0
	for name in "$@"; do
		case $name in memory | sqlite) ;; *) names+=("$name") ;; esac # nothing to start
	done
	if [ $# -gt 0 ] && [ ${#names[@]} = 0 ]; then return; fi
	check "${names[@]}"
	[ ${#names[@]} -gt 0 ] || names=("${everything[@]}")
	mkdir -p "$dir"
	chmod 755 "$dir"
	if with_compose; then
		compose up -d --wait "${names[@]}" >&2
		return
	fi
	programs_install || say 'the tests of deploy skip what needs a program that is not there'
	for name in "${names[@]}"; do
		{ "${name}_running" || forget "$name"; } && "${name}_up" &
		pids+=($!)
	done
	for name in "${!pids[@]}"; do
		wait "${pids[$name]}" || { say "${names[$name]} did not start"; failed=1; }
	done
	[ $failed = 0 ] || exit 1
}

# forget NAME ends the processes of a server and deletes its data: each start but a
# restart begins without the leftovers of earlier runs.
forget() {
	"${1}_down" && rm -rf "${dir:?}/$1" "${dir:?}/$1"-*/
}

down() {
	local names=("$@") name
	if with_compose; then
		if [ ${#names[@]} -gt 0 ]; then compose rm -sfv "${names[@]}" >&2; else compose down -v >&2; fi
		return
	fi
	check "${names[@]}"
	[ ${#names[@]} -gt 0 ] || names=("${on_request[@]}" "${everything[@]}")
	for name in "${names[@]}"; do
		"${name}_down" &
	done
	wait
}

case ${1:-} in
up) shift; up "$@"; print_env ;;
down) shift; down "$@" ;;
env) print_env ;;
list) list ;;
restart)
	shift
	for name in "$@"; do check "${name/%-[123]/}"; done
	if with_compose; then compose restart -t 0 "${@/kafka3-1/kafka3}" >&2; exit; fi
	for name in "$@"; do "${name}_down" KILL && "${name}_up"; done
	;;
pair) shift; pair "$@" ;;
upgrade) mkdir -p "$dir" && chmod 755 "$dir" && postgres_upgrade ;;
inside)
	[ $# -ge 3 ] || { say "usage: $0 inside SUITE COMMAND…"; exit 2; }
	enter "$2"
	exec "${within[@]}" "${@:3}"
	;;
*) say "usage: $0 up [NAME…] | down [NAME…] | env | list | restart NAME | pair up|down|freeze|lose NAME | upgrade | inside SUITE COMMAND…"; exit 2 ;;
esac
