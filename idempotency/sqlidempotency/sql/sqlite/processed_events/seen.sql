-- ?1 event id, ?2 consumer
SELECT count(*) FROM {{table}} WHERE event_id = ?1 AND consumer_service = ?2
