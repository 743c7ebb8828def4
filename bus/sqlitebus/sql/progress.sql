-- ?1 group, ?2 lane.
UPDATE bus_starts SET starts = 0, done = '' WHERE consumer = ?1 AND lane = ?2 AND starts > 0
