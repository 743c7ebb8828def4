-- Puts a cursor before the first row appended at or after a time, or after the
-- last row when there is none. ?1 consumer, ?2 lane, ?3 microseconds since 1970.
INSERT INTO {{.Cursors}} (consumer, lane, last_id, lease_token)
VALUES (?1, ?2, coalesce(
	(SELECT min(id) - 1 FROM {{.Messages}} WHERE lane = ?2 AND created_at >= ?3),
	(SELECT max(id) FROM {{.Messages}} WHERE lane = ?2),
	0), 1)
ON CONFLICT (consumer, lane) DO UPDATE SET
	last_id      = excluded.last_id,
	lease_holder = '',
	lease_token  = lease_token + 1,
	lease_until  = 0,
	updated_at   = {{now}}
