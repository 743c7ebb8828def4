-- group, lane.
SELECT starts, message, times FROM bus_starts WHERE consumer = ? AND lane = ?
