-- ?1 shard, ?2 a JSON array of [seq, id].
UPDATE outbox_events SET state = 'PUBLISHED', published = 1, published_at = CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000
WHERE shard = ?1 AND (seq, id) IN (SELECT value->>0, value->>1 FROM json_each(?2)) AND state = 'PENDING'
