-- ? event id, consumer, event type, aggregate id. A concurrent duplicate waits
-- for the first. The last insert id is 1 for a duplicate and 0 for a new row:
-- unlike the number of affected rows it does not depend on how the client
-- counts, and no error is needed to tell, so none can be mistaken for it.
INSERT INTO {{table}} (event_id, consumer_service, event_type, aggregate_id)
VALUES (?, ?, ?, ?)
ON DUPLICATE KEY UPDATE event_id = IF(LAST_INSERT_ID(1), event_id, event_id)
