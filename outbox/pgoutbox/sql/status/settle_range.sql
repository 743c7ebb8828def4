-- settle.sql for events that lie close together: one walk along the primary key
-- instead of a descent for each. "IS TRUE" keeps the list a hash table beside
-- the walk.
-- $1 shard, $2 token, $3 microseconds, $4 position ('' keeps what is there), $5 seqs,
-- $6 the least and $7 the greatest of them.
WITH held AS (
	UPDATE outbox_event_leases SET
		lease_until = clock_timestamp() + $3::bigint * interval '1 microsecond',
		position    = coalesce(nullif($4::text, ''), position),
		updated_at  = clock_timestamp()
	WHERE shard = $1 AND lease_token = $2 AND lease_server = {{server}}
	RETURNING 1
), marked AS (
	UPDATE outbox_events SET state = 'PUBLISHED', published = true, published_at = statement_timestamp()
	WHERE shard = $1 AND seq BETWEEN $6::bigint AND $7::bigint
		AND (seq IN (SELECT unnest($5::bigint[]))) IS TRUE
		AND state = 'PENDING' AND (SELECT count(*) FROM held) = 1
)
SELECT count(*) FROM held
