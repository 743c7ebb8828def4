-- Changes the delta of a key.
-- KEYS[1] set of the keys with deltas, KEYS[2] the delta
-- ARGV[1] by how much, ARGV[2] the key's name
-- returns nothing
-- Delta and set change together: no delta is ever without its entry.
if redis.call('INCRBY', KEYS[2], ARGV[1]) == 0 then
  redis.call('DEL', KEYS[2])
  redis.call('SREM', KEYS[1], ARGV[2])
else
  redis.call('SADD', KEYS[1], ARGV[2])
end
