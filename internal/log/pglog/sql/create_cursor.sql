-- A new cursor starts before the earliest retained entry. It is refused (no row)
-- in a lane whose other cursors came from another database system: the rows'
-- transaction ids mean nothing here until the lane is rebased.
-- $1 consumer, $2 lane.
WITH made AS (
	INSERT INTO {{.Cursors}} (consumer, lane, system_id)
	SELECT $1, $2, system_identifier FROM pg_control_system() AS here
	WHERE NOT EXISTS (SELECT 1 FROM {{.Cursors}} AS c WHERE c.lane = $2 AND c.system_id <> here.system_identifier)
	ON CONFLICT (consumer, lane) DO NOTHING
	RETURNING consumer, lane
)
INSERT INTO {{.Cursors}}_progress (consumer, lane, n) SELECT consumer, lane, 0 FROM made
