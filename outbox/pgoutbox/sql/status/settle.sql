-- Extends the lease as extend.sql does and marks events published, in one statement,
-- or neither. Returns 0 when the lease is lost: a row that another holder appends is
-- waited for before anything is marked.
-- $1 shard, $2 token, $3 microseconds, $4 position ('' keeps the last), $5 seqs,
-- $6 their ids.
WITH held AS (
	INSERT INTO outbox_event_progress (shard, n, swept, position, lease_holder, lease_token, lease_server, lease_until)
	SELECT shard, n + 1, swept, coalesce(nullif($4::text, ''), position), lease_holder, lease_token, lease_server,
		clock_timestamp() + $3::bigint * interval '1 microsecond'
	FROM (SELECT * FROM outbox_event_progress WHERE shard = $1 ORDER BY n DESC LIMIT 1 FOR KEY SHARE) AS newest
	WHERE lease_token = $2 AND lease_server = {{server}}
	ON CONFLICT (shard, n) DO NOTHING
	RETURNING 1
), marked AS (
	UPDATE outbox_events SET state = 'PUBLISHED', published = true, published_at = statement_timestamp()
	WHERE shard = $1 AND (seq, id) IN (SELECT * FROM unnest($5::bigint[], $6::uuid[])) AND state = 'PENDING' AND (SELECT count(*) FROM held) = 1
)
SELECT count(*) FROM held
