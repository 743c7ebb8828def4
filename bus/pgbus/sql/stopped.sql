-- $1 done, $2 group, $3 lane.
UPDATE bus_starts SET starts = 0, done = $1 WHERE consumer = $2 AND lane = $3
