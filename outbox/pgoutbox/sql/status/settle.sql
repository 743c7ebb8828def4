-- Extends the lease and marks events published, in one statement, or neither.
-- Returns 0 when the lease is lost: another holder's change of the row is waited
-- for, and the token looked at again, before anything is marked.
-- $1 shard, $2 token, $3 microseconds, $4 position ('' keeps what is there), $5 seqs.
WITH held AS (
	UPDATE outbox_event_leases SET
		lease_until = clock_timestamp() + $3::bigint * interval '1 microsecond',
		position    = coalesce(nullif($4::text, ''), position),
		updated_at  = clock_timestamp()
	WHERE shard = $1 AND lease_token = $2 AND lease_server = {{server}}
	RETURNING 1
), marked AS (
	UPDATE outbox_events SET state = 'PUBLISHED', published = true, published_at = statement_timestamp()
	WHERE shard = $1 AND seq = ANY ($5::bigint[]) AND state = 'PENDING' AND (SELECT count(*) FROM held) = 1
)
SELECT count(*) FROM held
