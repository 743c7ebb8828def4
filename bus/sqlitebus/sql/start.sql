-- ?1 group, ?2 lane.
INSERT INTO bus_starts (consumer, lane, starts) VALUES (?1, ?2, 1)
ON CONFLICT (consumer, lane) DO UPDATE SET starts = starts + 1
