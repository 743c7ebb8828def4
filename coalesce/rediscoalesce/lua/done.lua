-- Ends a run if the caller holds its lock: begins another when the lock is
-- marked, and deletes the lock when it is not.
-- KEYS[1] lock  KEYS[2] version  KEYS[3] mark for one more run
-- ARGV[1] 'PRIORITY:version'  ARGV[2], ARGV[3] TTL of a lock, high and low, ms
-- ARGV[4] TTL of the version, ms
-- returns {'lost'} | {'released'} | {'again', lock}
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return {'lost'}
end
local version = string.match(ARGV[1], ':(%d+)$')
local again, of = string.match(redis.call('GET', KEYS[3]) or '', '^(%u+):(%d+)$')
if of ~= version then
  redis.call('DEL', KEYS[1], KEYS[3])
  return {'released'}
end
local now = redis.call('TIME')
local stored = math.max(tonumber(redis.call('GET', KEYS[2])) or 0, tonumber(version))
local new = string.format('%.0f', math.max(stored + 1, now[1] * 1000000 + now[2]))
redis.call('SET', KEYS[2], new, 'PX', ARGV[4])
redis.call('SET', KEYS[1], again .. ':' .. new, 'PX', again == 'HIGH' and ARGV[2] or ARGV[3])
redis.call('DEL', KEYS[3])
return {'again', again .. ':' .. new}
