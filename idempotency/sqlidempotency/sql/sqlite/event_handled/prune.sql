-- ?1 minus the age in microseconds, ?2 limit
DELETE FROM {{table}} WHERE idempotency_key IN (
    SELECT idempotency_key FROM {{table}}
    WHERE handled_at < strftime('%Y-%m-%dT%H:%M:%fZ', 'now', (?1 / 1e6) || ' seconds') ORDER BY handled_at LIMIT ?2
)
