-- Marks a key that the caller holds as handled.
-- KEYS[1] the key, a string  ARGV[1] the caller's value  ARGV[2] the mark
-- ARGV[3] kept for, ms
-- returns 1, or 0 when another caller holds the key, or none does
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1
