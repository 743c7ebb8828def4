-- $1 microseconds, $2 key, $3 token
UPDATE {{table}} SET leased_until = clock_timestamp() + $1::bigint * interval '1 microsecond'
WHERE idempotency_key = $2 AND token = $3 AND state = 'CLAIMED'
