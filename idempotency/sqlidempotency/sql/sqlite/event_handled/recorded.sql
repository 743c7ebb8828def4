-- ?1 a JSON array of [key]. Counts the keys that are recorded.
SELECT count(*) FROM {{table}} WHERE idempotency_key IN (SELECT value->>0 FROM json_each(?1))
