-- Appends events in the order given.
-- $1 shards, $2 topics, $3 ids, $4 keys, $5 headers, $6 payloads, $7 types, $8 aggregate types, $9 aggregate ids.
INSERT INTO outbox_events (shard, topic, id, event_key, headers, payload, event_type, aggregate_type, aggregate_id)
SELECT e.shard, e.topic, e.id::uuid, e.event_key, e.headers, e.payload, e.event_type, e.aggregate_type, e.aggregate_id
FROM unnest($1::integer[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bytea[], $7::text[], $8::text[], $9::text[])
	WITH ORDINALITY AS e(shard, topic, id, event_key, headers, payload, event_type, aggregate_type, aggregate_id, n)
ORDER BY e.n
