-- ?1 a JSON array of seqs.
SELECT seq, shard, id, topic, event_key, headers, payload, event_type, aggregate_type, aggregate_id
FROM outbox_events
WHERE seq IN (SELECT value FROM json_each(?1)) AND state = 'FAILED'
ORDER BY seq
