-- Forgets the copy, and refuses those that were begun before.
-- KEYS[1] the copy, KEYS[2] its version
-- returns nothing
-- The version outlives every reading that began with an older one.
redis.call('INCR', KEYS[2])
redis.call('PEXPIRE', KEYS[2], 3600000)
redis.call('DEL', KEYS[1])
