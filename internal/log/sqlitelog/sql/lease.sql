-- Takes a cursor, and makes it when it is new. No row: held by another.
-- ?1 consumer, ?2 lane, ?3 holder, ?4 microseconds.
INSERT INTO {{.Cursors}} (consumer, lane, lease_holder, lease_token, lease_until)
VALUES (?1, ?2, ?3, 1, {{now}} + ?4)
ON CONFLICT (consumer, lane) DO UPDATE SET
	lease_holder = excluded.lease_holder,
	lease_token  = lease_token + 1,
	lease_until  = excluded.lease_until
WHERE lease_holder = excluded.lease_holder OR lease_until <= {{now}}
RETURNING lease_token, last_id
