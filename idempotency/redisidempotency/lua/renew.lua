-- Keeps a key that the caller holds for longer.
-- KEYS[1] the key, a string  ARGV[1] the caller's value  ARGV[2] ms
-- returns 1, or 0 when another caller holds the key, or none does
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
