-- ?1 consumer, ?2 lane.
SELECT count(*) FROM outbox_cursors WHERE consumer = ?1 AND lane = ?2
