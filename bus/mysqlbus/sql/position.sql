-- Where a cursor stands. ? group, ? lane.
SELECT '', '', 0, 0, last_seq FROM bus_cursors WHERE consumer = ? AND lane = ?
