-- The rows stay locked until the transaction has deleted them.
-- ?1 a JSON array of seqs.
SELECT e.seq, e.shard, e.id, e.topic, e.event_key, e.headers, e.payload, e.event_type, e.aggregate_type, e.aggregate_id
FROM JSON_TABLE(?1, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS j STRAIGHT_JOIN outbox_events AS e FORCE INDEX (PRIMARY) ON e.seq = j.seq
WHERE e.state = 'FAILED'
ORDER BY e.seq
FOR UPDATE
