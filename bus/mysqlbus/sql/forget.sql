-- Removes a cursor while its lease is held. ? group, ? lane, ? token.
DELETE FROM bus_cursors WHERE consumer = ? AND lane = ? AND lease_token = ?
