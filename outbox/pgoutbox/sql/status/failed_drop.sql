-- $1 seqs.
DELETE FROM outbox_events WHERE seq = ANY ($1::bigint[]) AND state = 'FAILED' AND (aside OR attempts > 0)
