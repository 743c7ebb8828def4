-- ?1 minus the age in microseconds, ?2 limit
DELETE FROM {{table}} WHERE (event_id, consumer_service) IN (
    SELECT event_id, consumer_service FROM {{table}}
    WHERE processed_at < strftime('%Y-%m-%dT%H:%M:%fZ', 'now', (?1 / 1e6) || ' seconds') ORDER BY processed_at LIMIT ?2
)
