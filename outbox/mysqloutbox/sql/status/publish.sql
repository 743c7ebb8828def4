-- By primary key and no other way: a scan, which the optimizer prefers for a small
-- table, would lock the rows of open transactions, that is wait for them.
-- ?1 shard, ?2 a JSON array of [seq, id].
UPDATE JSON_TABLE(?2, '$[*]' COLUMNS (seq BIGINT PATH '$[0]', id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin PATH '$[1]')) AS j
	STRAIGHT_JOIN outbox_events AS e FORCE INDEX (PRIMARY) ON e.seq = j.seq
SET e.state = 'PUBLISHED', e.aside = FALSE, e.published = TRUE, e.published_at = UTC_TIMESTAMP(6)
WHERE e.shard = ?1 AND e.id = j.id AND e.state = 'PENDING'
