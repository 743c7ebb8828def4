-- ? key
SELECT count(*) FROM {{table}} WHERE idempotency_key = ?
