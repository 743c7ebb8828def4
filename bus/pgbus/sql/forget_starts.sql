-- Removes what is kept of the starts of a cursor. $1 group, $2 lane.
DELETE FROM bus_starts WHERE consumer = $1 AND lane = $2
