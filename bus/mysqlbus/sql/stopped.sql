-- done, group, lane.
UPDATE bus_starts SET starts = 0, done = ? WHERE consumer = ? AND lane = ?
