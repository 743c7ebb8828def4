-- Removes what is kept of the starts of a cursor. ? group, ? lane.
DELETE FROM bus_starts WHERE consumer = ? AND lane = ?
