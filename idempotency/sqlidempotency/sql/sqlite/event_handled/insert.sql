-- ?1 key, ?2 group, ?3 event type, ?4 aggregate id
INSERT INTO {{table}} (idempotency_key, consumer_group, event_type, aggregate_id)
VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (idempotency_key) DO NOTHING
