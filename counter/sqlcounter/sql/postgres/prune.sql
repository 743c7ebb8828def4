-- $1 counter, $2 age in microseconds, $3 limit
DELETE FROM count_batches WHERE batch_id IN (
    SELECT batch_id FROM count_batches
    WHERE counter = $1 AND applied_at <= clock_timestamp() - $2::bigint * interval '1 microsecond'
    ORDER BY applied_at LIMIT $3
)
