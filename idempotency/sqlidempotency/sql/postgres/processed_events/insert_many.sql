-- $1 a JSON array of [event id, consumer, event type, aggregate id], sorted by
-- both ids so that two batches lock in one order. Returns the ids that are new.
INSERT INTO {{table}} (event_id, consumer_service, event_type, aggregate_id)
SELECT r->>0, r->>1, r->>2, r->>3 FROM json_array_elements($1::json) AS r
ON CONFLICT (event_id, consumer_service) DO NOTHING
RETURNING event_id, consumer_service
