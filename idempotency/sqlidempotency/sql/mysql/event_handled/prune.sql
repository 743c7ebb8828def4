-- ? before, limit
DELETE FROM {{table}} WHERE handled_at < ? ORDER BY handled_at, idempotency_key LIMIT ?
