-- Marks a key that the caller holds as handled.
-- KEYS[1] the key, a string  ARGV[1] the caller's value  ARGV[2] the mark
-- ARGV[3] kept for, ms
-- returns 1, 2 when it is marked already, or 0 when another caller holds the key,
-- or none does
local value = redis.call('GET', KEYS[1])
if value == ARGV[2] then
  return 2
end
if value ~= ARGV[1] then
  return 0
end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1
