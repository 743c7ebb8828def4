-- $1 before, $2 limit. Instances that prune at once take different rows.
DELETE FROM {{table}} WHERE (event_id, consumer_service) IN (
    SELECT event_id, consumer_service FROM {{table}}
    WHERE processed_at < $1 ORDER BY processed_at LIMIT $2
    FOR UPDATE SKIP LOCKED
)
