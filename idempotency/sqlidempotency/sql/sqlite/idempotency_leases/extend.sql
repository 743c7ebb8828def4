-- ?1 microseconds, ?2 key, ?3 token
UPDATE {{table}} SET leased_until = CAST(unixepoch('subsec') * 1000000 AS INTEGER) + ?1
WHERE idempotency_key = ?2 AND token = ?3 AND state = 'CLAIMED'
