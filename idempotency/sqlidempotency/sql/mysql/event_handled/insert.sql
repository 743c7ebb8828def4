-- ? key, group, event type, aggregate id. A concurrent duplicate waits for the
-- first. The last insert id is 1 for a duplicate and 0 for a new row: unlike the
-- number of affected rows it does not depend on how the client counts, and no
-- error is needed to tell, so no other error can be mistaken for it.
INSERT INTO {{table}} (idempotency_key, consumer_group, event_type, aggregate_id)
VALUES (?, ?, ?, ?)
ON DUPLICATE KEY UPDATE idempotency_key = IF(LAST_INSERT_ID(1), idempotency_key, idempotency_key)
