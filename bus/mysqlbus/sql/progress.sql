-- group, lane.
UPDATE bus_starts SET starts = 0 WHERE consumer = ? AND lane = ? AND starts > 0
