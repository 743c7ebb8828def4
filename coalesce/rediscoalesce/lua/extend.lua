-- Sets the TTLs of a lock, its mark and the version again if the caller holds
-- the lock.
-- KEYS[1] lock  KEYS[2] version  KEYS[3] mark for one more run
-- ARGV[1] 'PRIORITY:version'  ARGV[2] TTL of the lock, ms
-- ARGV[3] TTL of the version, ms
-- returns 1, or 0 when another caller holds the lock, or none does
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
redis.call('PEXPIRE', KEYS[3], ARGV[2] + 1000)
-- The holder of the lock has the newest version, also when the counter is gone.
redis.call('SET', KEYS[2], string.match(ARGV[1], ':(%d+)$'), 'PX', ARGV[3])
return 1
