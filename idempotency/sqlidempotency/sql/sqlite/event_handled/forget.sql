-- ?1 a JSON array of [key].
DELETE FROM {{table}} WHERE idempotency_key IN (SELECT value->>0 FROM json_each(?1))
