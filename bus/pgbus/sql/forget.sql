-- Removes a cursor, and its progress with it, while its lease is held: another member
-- cannot have taken it before that is over. $1 group, $2 lane, $3 token.
DELETE FROM bus_cursors WHERE consumer = $1 AND lane = $2 AND EXISTS (
	SELECT 1 FROM (
		SELECT * FROM bus_cursors_progress WHERE consumer = $1 AND lane = $2 ORDER BY n DESC LIMIT 1 FOR KEY SHARE
	) AS newest
	WHERE lease_token = $3 AND lease_until > clock_timestamp()
)
