-- Appends one event; parameters as in append.sql.
INSERT INTO outbox_events (shard, topic, id, event_key, headers, payload, event_type, aggregate_type, aggregate_id)
VALUES ($1, $2, $3::text::uuid, $4, $5, $6, $7, $8, $9)
