-- Makes a topic on the lanes after all others, or takes over a new retention.
-- ?1 name, ?2 partitions, ?3 retention in microseconds.
INSERT INTO bus_topics (name, first_lane, partitions, retention)
SELECT ?1, coalesce(max(first_lane + partitions), 0), ?2, ?3 FROM bus_topics WHERE true
ON CONFLICT (name) DO UPDATE SET retention = CASE WHEN ?3 > 0 THEN ?3 ELSE retention END
