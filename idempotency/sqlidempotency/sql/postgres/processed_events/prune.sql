-- $1 minus the age in microseconds, $2 limit. Instances that prune at once take different rows.
DELETE FROM {{table}} WHERE (event_id, consumer_service) IN (
    SELECT event_id, consumer_service FROM {{table}}
    WHERE processed_at < statement_timestamp() + $1::bigint * interval '1 microsecond' ORDER BY processed_at LIMIT $2
    FOR UPDATE SKIP LOCKED
)
