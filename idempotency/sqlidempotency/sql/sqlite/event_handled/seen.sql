-- ?1 key
SELECT count(*) FROM {{table}} WHERE idempotency_key = ?1
