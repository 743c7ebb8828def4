-- How far lanes are: the next place a reader gives, and the last row that has
-- none. A list of lanes is put in. MySQL reads all rows of a lane without a place, of
-- which there are many for a short time only. MAX(id) by lane would read one, but the
-- whole index where statistics are old, and a branch of a UNION per lane takes longer
-- than the rows do.
SELECT l.lane, l.next_seq, COALESCE((
	SELECT m.id FROM bus_messages AS m FORCE INDEX (bus_messages_lane)
	WHERE m.lane = l.lane AND m.seq = 0 ORDER BY m.id DESC LIMIT 1), 0)
FROM bus_messages_lanes AS l WHERE l.lane IN (
