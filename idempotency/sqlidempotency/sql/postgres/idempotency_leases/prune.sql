-- $1 minus the age in microseconds, $2 limit. A lease that runs on is kept, whatever
-- the age. Instances that prune at once take different rows.
DELETE FROM {{table}} WHERE idempotency_key IN (
    SELECT idempotency_key FROM {{table}}
    WHERE leased_until < statement_timestamp() + $1::bigint * interval '1 microsecond' AND (state <> 'CLAIMED' OR leased_until <= clock_timestamp())
    ORDER BY leased_until LIMIT $2
    FOR UPDATE SKIP LOCKED
)
