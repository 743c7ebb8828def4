-- $1 minus the age in microseconds, $2 limit. Instances that prune at once take different rows.
DELETE FROM {{table}} WHERE idempotency_key IN (
    SELECT idempotency_key FROM {{table}}
    WHERE handled_at < statement_timestamp() + $1::bigint * interval '1 microsecond' ORDER BY handled_at LIMIT $2
    FOR UPDATE SKIP LOCKED
)
