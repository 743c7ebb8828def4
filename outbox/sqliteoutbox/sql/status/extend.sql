-- ?1 shard, ?2 token, ?3 microseconds, ?4 position ('' keeps the last).
UPDATE outbox_event_leases SET
	lease_until = CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 + ?3,
	position    = coalesce(nullif(?4, ''), position),
	updated_at  = CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000
WHERE shard = ?1 AND lease_token = ?2
