-- $1 shard, $2 seqs, $3 their ids.
UPDATE outbox_events SET state = 'PUBLISHED', published = true, published_at = statement_timestamp()
WHERE shard = $1 AND (seq, id) IN (SELECT * FROM unnest($2::bigint[], $3::uuid[])) AND state = 'PENDING'
