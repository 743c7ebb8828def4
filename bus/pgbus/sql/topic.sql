SELECT name, first_lane, partitions, retention FROM bus_topics WHERE name = $1
