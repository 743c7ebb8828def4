-- Drops a batch that lies aside.
-- KEYS[1] set of the batches aside, KEYS[2] the batch
-- ARGV[1] id of the batch
-- returns nothing
redis.call('DEL', KEYS[2])
redis.call('SREM', KEYS[1], ARGV[1])
