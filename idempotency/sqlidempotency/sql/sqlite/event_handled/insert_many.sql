-- ?1 a JSON array of [key, group, event type, aggregate id]. Returns the keys
-- that are new. WHERE true keeps the parser from reading ON as a join.
INSERT INTO {{table}} (idempotency_key, consumer_group, event_type, aggregate_id)
SELECT value->>0, value->>1, value->>2, value->>3 FROM json_each(?1) WHERE true
ON CONFLICT (idempotency_key) DO NOTHING
RETURNING idempotency_key
