-- Removes members that have stopped to say that they live.
DELETE FROM bus_members WHERE live_until <= CAST(unixepoch('subsec') * 1000 AS INTEGER) * 1000
