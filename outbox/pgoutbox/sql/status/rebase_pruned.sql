-- The transactions that may have left rows behind are another system's.
-- $1 shard.
DELETE FROM outbox_events_pruned WHERE lane = $1
