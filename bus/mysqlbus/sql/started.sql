-- group, lane.
SELECT starts, message, times, done FROM bus_starts WHERE consumer = ? AND lane = ?
