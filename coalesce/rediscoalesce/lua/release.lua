-- Deletes a lock, with its mark, if the caller holds it.
-- KEYS[1] lock  KEYS[2] mark for one more run  ARGV[1] 'PRIORITY:version'
-- returns 1, or 0 when another caller holds the lock, or none does
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
redis.call('DEL', KEYS[1], KEYS[2])
return 1
