-- ? event id, consumer
SELECT count(*) FROM {{table}} WHERE event_id = ? AND consumer_service = ?
