-- $1 shard, $2 token, $3 microseconds, $4 position ('' keeps what is there).
UPDATE outbox_event_leases SET
	lease_until = clock_timestamp() + $3::bigint * interval '1 microsecond',
	position    = coalesce(nullif($4::text, ''), position),
	updated_at  = clock_timestamp()
WHERE shard = $1 AND lease_token = $2 AND lease_server = {{server}}
