#!/bin/sh
# Books a seat of the box office by its HTTP routes, and prints the result:
#
#   SITE=http://127.0.0.1:8080 docs/book.sh ann show-1 A-1
#
# It needs curl. openapi.yaml beside it has every route.
set -eu
site=${SITE:-http://127.0.0.1:8080}
member=${1:-ann} show=${2:-show-1} seat=${3:-A-1}

# field NAME: the value of a field of the JSON that is read.
field() { sed -n "s/.*\"$1\":\"\{0,1\}\([^\",}]*\).*/\1/p"; }

# call METHOD PATH [curl's options]: ends the script with the answer when that
# is an error.
call() {
	method=$1 path=$2
	shift 2
	if ! answer=$(curl -sS --fail-with-body -X "$method" "$site$path" -H "Authorization: Bearer ${token-}" -H "x-queue-entry-token: ${entry-}" "$@"); then
		echo "$method $path: $answer" >&2
		exit 1
	fi
}

call POST /api/login -d "{\"memberId\":\"$member\"}"
token=$(echo "$answer" | field token)

# The waiting room: in at once, or in line.
while :; do
	call POST "/api/queue/check/$show"
	entry=$(echo "$answer" | field entryToken)
	case $entry in '' | null) ;; *) break ;; esac
	echo "in line: $(echo "$answer" | field position)"
	sleep "$(echo "$answer" | field nextPoll)"
done

call POST /api/seats/reserve -d "{\"eventId\":\"$show\",\"seatIds\":[\"$seat\"]}"
reservation=$(echo "$answer" | field reservationId)
amount=$(echo "$answer" | field amount)

# The key makes a repeated request the same payment.
key=${KEY:-$reservation}
call POST /api/payments -H "Idempotency-Key: $key" -d "{\"reservationId\":\"$reservation\",\"amount\":$amount,\"card\":\"4242424242424242\"}"
payment=$(echo "$answer" | field paymentId)

# The gateway takes up to 0.3 s; its answer comes back as an event.
tries=0 status=PROCESSING
while [ "$status" = PROCESSING ] && [ $tries -lt 60 ]; do
	sleep 0.2
	call GET "/api/payments/$payment"
	status=$(echo "$answer" | field status)
	tries=$((tries + 1))
done
echo "payment of $amount: $status"

tries=0 ticket=PENDING
while [ "$ticket" = PENDING ] && [ $tries -lt 60 ]; do
	sleep 0.2
	call GET "/api/reservations/$reservation"
	ticket=$(echo "$answer" | field status)
	tries=$((tries + 1))
done
echo "seat $seat of $show: $ticket"
[ "$ticket" = CONFIRMED ]
