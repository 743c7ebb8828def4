-- ?1 counter, ?2 age in microseconds, ?3 limit
DELETE FROM count_batches WHERE batch_id IN (
    SELECT batch_id FROM count_batches
    WHERE counter = ?1 AND applied_at <= strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-' || (?2 / 1000000.0) || ' seconds')
    ORDER BY applied_at LIMIT ?3
)
