-- $1 seqs.
SELECT seq, shard, id::text, topic, event_key, headers, payload, event_type, aggregate_type, aggregate_id
FROM outbox_events
WHERE seq = ANY ($1::bigint[]) AND state = 'FAILED' AND (aside OR attempts > 0)
ORDER BY seq
FOR UPDATE
