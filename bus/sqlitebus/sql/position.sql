-- Where a cursor stands. ?1 group, ?2 lane.
SELECT '', '', 0, 0, last_id FROM bus_cursors WHERE consumer = ?1 AND lane = ?2
