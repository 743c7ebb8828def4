SELECT name, first_lane, partitions, retention FROM bus_topics ORDER BY name
