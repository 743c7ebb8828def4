-- ? result, key, token
UPDATE {{table}} SET state = 'COMPLETED', result = ?, leased_until = UTC_TIMESTAMP(6)
WHERE idempotency_key = ? AND token = ? AND state = 'CLAIMED'
