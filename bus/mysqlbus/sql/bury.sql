-- Removes members that have stopped to say that they live.
DELETE FROM bus_members WHERE live_until <= UTC_TIMESTAMP(6)
