-- Changes when a member comes or goes, or a lane is given up.
SELECT (SELECT COUNT(*) FROM bus_members), (SELECT COALESCE(MAX(id), 0) FROM bus_members),
	(SELECT COUNT(*) FROM bus_cursors WHERE lease_holder = '')
