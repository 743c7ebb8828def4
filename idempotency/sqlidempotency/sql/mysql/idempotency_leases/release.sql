-- ? key, token. The row stays, so that the next token is above this one.
UPDATE {{table}} SET state = 'RELEASED', leased_until = UTC_TIMESTAMP(6)
WHERE idempotency_key = ? AND token = ? AND state = 'CLAIMED'
