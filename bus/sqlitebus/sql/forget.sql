-- Removes a cursor while its lease is held. ?1 group, ?2 lane, ?3 token.
DELETE FROM bus_cursors WHERE consumer = ?1 AND lane = ?2 AND lease_token = ?3
