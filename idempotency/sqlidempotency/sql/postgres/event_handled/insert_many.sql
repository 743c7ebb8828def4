-- $1 a JSON array of [key, group, event type, aggregate id], sorted by key so
-- that two batches lock in one order. Returns the keys that are new.
INSERT INTO {{table}} (idempotency_key, consumer_group, event_type, aggregate_id)
SELECT r->>0, r->>1, r->>2, r->>3 FROM json_array_elements($1::json) AS r
ON CONFLICT (idempotency_key) DO NOTHING
RETURNING idempotency_key
