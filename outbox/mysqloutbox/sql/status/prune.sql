-- By primary key, so that no gap is locked. ?1 shard, ?2 a JSON array of seqs.
DELETE e FROM JSON_TABLE(?2, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS j STRAIGHT_JOIN outbox_events AS e FORCE INDEX (PRIMARY) ON e.seq = j.seq
WHERE e.shard = ?1 AND e.state = 'PUBLISHED'
