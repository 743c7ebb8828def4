-- ?1 a JSON array of seqs.
DELETE e FROM JSON_TABLE(?1, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS j STRAIGHT_JOIN outbox_events AS e FORCE INDEX (PRIMARY) ON e.seq = j.seq
WHERE e.state = 'FAILED'
