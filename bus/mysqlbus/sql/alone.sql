-- message, times, group, lane.
UPDATE bus_starts SET message = ?, times = ? WHERE consumer = ? AND lane = ?
