-- $1 event id, $2 consumer, $3 event type, $4 aggregate id. A concurrent
-- duplicate waits for the first, and takes over when that rolls back.
INSERT INTO {{table}} (event_id, consumer_service, event_type, aggregate_id)
VALUES ($1, $2, $3, $4)
ON CONFLICT (event_id, consumer_service) DO NOTHING
