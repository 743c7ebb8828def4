-- ?1 result, ?2 key, ?3 token
UPDATE {{table}} SET state = 'COMPLETED', result = ?1, leased_until = CAST(unixepoch('subsec') * 1000000 AS INTEGER)
WHERE idempotency_key = ?2 AND token = ?3 AND state = 'CLAIMED'
