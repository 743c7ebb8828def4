-- ? before, limit
DELETE FROM {{table}} WHERE processed_at < ? ORDER BY processed_at, event_id, consumer_service LIMIT ?
