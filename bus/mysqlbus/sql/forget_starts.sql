-- Removes the record of a cursor's starts. ? group, ? lane.
DELETE FROM bus_starts WHERE consumer = ? AND lane = ?
