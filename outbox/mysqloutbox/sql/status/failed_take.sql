-- The rows stay locked until the transaction has deleted them. The seqs are a
-- derived table, because MySQL refuses FOR UPDATE beside a JSON_TABLE (error 3569).
-- ?1 a JSON array of seqs.
SELECT e.seq, e.shard, e.id, e.topic, e.event_key, e.headers, e.payload, e.event_type, e.aggregate_type, e.aggregate_id
FROM (SELECT seq FROM JSON_TABLE(?1, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS seqs) AS j STRAIGHT_JOIN outbox_events AS e FORCE INDEX (PRIMARY) ON e.seq = j.seq
WHERE e.state = 'FAILED'
ORDER BY e.seq
FOR UPDATE
