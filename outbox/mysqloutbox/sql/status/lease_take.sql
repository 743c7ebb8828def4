-- The token leaps at random, so that one which a crash of the server undoes is not
-- given again.
-- ?1 shard, ?2 holder, ?3 microseconds. No row: absent, or held by another.
UPDATE outbox_event_leases SET
	lease_until  = TIMESTAMPADD(MICROSECOND, ?3, UTC_TIMESTAMP(6)),
	lease_token  = lease_token + 1 + FLOOR(RAND() * 1000000),
	lease_server = {{server}},
	lease_holder = ?2
WHERE shard = ?1 AND (lease_holder = ?2 OR lease_until <= UTC_TIMESTAMP(6))
