-- Removes the record of a cursor's starts. ?1 group, ?2 lane.
DELETE FROM bus_starts WHERE consumer = ?1 AND lane = ?2
