-- ?1 shard, ?2 token, ?3 microseconds, ?4 position ('' keeps the last).
UPDATE outbox_event_leases SET
	lease_until = TIMESTAMPADD(MICROSECOND, ?3, UTC_TIMESTAMP(6)),
	position    = COALESCE(NULLIF(?4, ''), position),
	touched     = touched + 1,
	updated_at  = UTC_TIMESTAMP(6)
WHERE shard = ?1 AND lease_token = ?2 AND lease_server = {{server}}
