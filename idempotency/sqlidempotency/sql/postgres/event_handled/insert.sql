-- $1 key, $2 group, $3 event type, $4 aggregate id. A concurrent duplicate
-- waits for the first, and takes over when that rolls back.
INSERT INTO {{table}} (idempotency_key, consumer_group, event_type, aggregate_id)
VALUES ($1, $2, $3, $4)
ON CONFLICT (idempotency_key) DO NOTHING
