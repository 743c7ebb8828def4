-- ?1 a JSON array of [event id, consumer, event type, aggregate id]. Returns the
-- ids that are new. WHERE true keeps the parser from reading ON as a join.
INSERT INTO {{table}} (event_id, consumer_service, event_type, aggregate_id)
SELECT value->>0, value->>1, value->>2, value->>3 FROM json_each(?1) WHERE true
ON CONFLICT (event_id, consumer_service) DO NOTHING
RETURNING event_id, consumer_service
