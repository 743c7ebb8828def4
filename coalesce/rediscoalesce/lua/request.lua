-- Decides whether a request has its key refreshed.
-- KEYS[1] lock, 'PRIORITY:version'  KEYS[2] version
-- KEYS[3] mark for one more run, 'PRIORITY:version of the lock it belongs to'.
--   It counts only beside that lock, and lasts a second longer, so that no
--   rounding of TTLs lets it go first.
-- ARGV[1] priority, HIGH or LOW  ARGV[2] TTL of its lock, ms
-- ARGV[3] TTL of the version, ms  ARGV[4] '1' leaves a mark when the lock is held
-- returns {'published' | 'upgraded' | 'processing', lock}
local lock = redis.call('GET', KEYS[1])
local held, version = string.match(lock or '', '^(%u+):(%d+)$')
if held and (held == 'HIGH' or ARGV[1] ~= 'HIGH') then
  if ARGV[4] == '1' and redis.call('GET', KEYS[3]) ~= 'HIGH:' .. version then
    redis.call('SET', KEYS[3], ARGV[1] .. ':' .. version, 'PX', redis.call('PTTL', KEYS[1]) + 1000)
  end
  return {'processing', lock}
end
-- Above every earlier version, also of a counter that was lost, while the clock
-- does not go back. Numbers of this size are exact, but print in full only so.
local now = redis.call('TIME')
local stored = math.max(tonumber(redis.call('GET', KEYS[2])) or 0, tonumber(version) or 0)
local new = string.format('%.0f', math.max(stored + 1, now[1] * 1000000 + now[2]))
redis.call('SET', KEYS[2], new, 'PX', ARGV[3])
local mine = ARGV[1] .. ':' .. new
redis.call('SET', KEYS[1], mine, 'PX', ARGV[2])
if not held then
  return {'published', mine}
end
local again, of = string.match(redis.call('GET', KEYS[3]) or '', '^(%u+):(%d+)$')
if of == version then
  redis.call('SET', KEYS[3], again .. ':' .. new, 'PX', ARGV[2] + 1000)
end
return {'upgraded', mine}
