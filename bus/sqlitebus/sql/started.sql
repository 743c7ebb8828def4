-- ?1 group, ?2 lane.
SELECT starts, message, times, done FROM bus_starts WHERE consumer = ?1 AND lane = ?2
