-- $1 key, $2 token. The row stays, so that the next token is above this one.
UPDATE {{table}} SET state = 'RELEASED', leased_until = clock_timestamp()
WHERE idempotency_key = $1 AND token = $2 AND state = 'CLAIMED'
