-- $1 shard, $2 seqs.
UPDATE outbox_events SET state = 'PUBLISHED', published = true, published_at = statement_timestamp()
WHERE shard = $1 AND seq = ANY ($2::bigint[]) AND state = 'PENDING'
