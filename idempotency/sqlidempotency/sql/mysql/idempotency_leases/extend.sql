-- ? microseconds, key, token
UPDATE {{table}} SET leased_until = UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND
WHERE idempotency_key = ? AND token = ? AND state = 'CLAIMED'
