-- $1 message, $2 times, $3 group, $4 lane.
UPDATE bus_starts SET message = $1, times = $2 WHERE consumer = $3 AND lane = $4
