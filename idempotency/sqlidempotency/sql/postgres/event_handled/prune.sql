-- $1 before, $2 limit. Instances that prune at once take different rows.
DELETE FROM {{table}} WHERE idempotency_key IN (
    SELECT idempotency_key FROM {{table}}
    WHERE handled_at < $1 ORDER BY handled_at LIMIT $2
    FOR UPDATE SKIP LOCKED
)
