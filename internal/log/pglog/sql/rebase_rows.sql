-- After a restore elsewhere the rows' transaction ids belong to another system. So do
-- those of rows that can be seen though their transactions lie ahead, whatever the
-- cursors say. Id 3 is the frozen id: older than every snapshot.
-- $1 lane.
UPDATE {{.Messages}} SET xid = '3' WHERE lane = $1 AND xid <> '3'
	AND (EXISTS (SELECT 1 FROM {{.Cursors}} AS c WHERE c.lane = $1
			AND c.system_id <> (SELECT system_identifier FROM pg_control_system()))
		OR (xid >= pg_snapshot_xmax(pg_current_snapshot()) AND xid IS DISTINCT FROM pg_current_xact_id_if_assigned()))
