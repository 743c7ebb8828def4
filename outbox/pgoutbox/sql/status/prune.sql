-- $1 shard, $2 seqs.
DELETE FROM outbox_events WHERE shard = $1 AND seq = ANY ($2::bigint[]) AND state = 'PUBLISHED'
