-- $1 result, $2 key, $3 token
UPDATE {{table}} SET state = 'COMPLETED', result = $1, leased_until = clock_timestamp()
WHERE idempotency_key = $2 AND token = $3 AND state = 'CLAIMED'
