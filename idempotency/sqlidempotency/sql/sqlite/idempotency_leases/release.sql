-- ?1 key, ?2 token. The row stays, so that the next token is above this one.
UPDATE {{table}} SET state = 'RELEASED', leased_until = CAST(unixepoch('subsec') * 1000000 AS INTEGER)
WHERE idempotency_key = ?1 AND token = ?2 AND state = 'CLAIMED'
