-- Appends events in the order given. The last line's placeholders are repeated
-- for each further event.
INSERT INTO outbox_events (shard, id, topic, event_key, headers, payload, event_type, aggregate_type, aggregate_id)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
