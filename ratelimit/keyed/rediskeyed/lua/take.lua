-- Takes one call of each key, in their order, where its limit has one.
-- KEYS one for each call: STRING, when the key's burst is full again, in µs since 1970,
--   decimal; it expires at that time. The same key may come twice.
-- ARGV[1] packed doubles for each key: the interval in µs, and the burst
-- returns packed doubles: the wait in µs; 0 where the call was taken
-- Cost: an MGET, and a SET for each key of which a call was taken.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local stored = redis.call('MGET', unpack(KEYS))
local times, waits, changed, at = {}, {}, {}, 1
for i, key in ipairs(KEYS) do
  local every, burst
  every, burst, at = struct.unpack('<dd', ARGV[1], at)
  local span = every * burst
  -- Not above span: the clock may have been set back.
  local full = math.min(math.max(times[key] or tonumber(stored[i] or 0), now), now + span)
  local wait = full + every - now - span
  if wait > 0 then
    waits[i] = struct.pack('<d', wait)
  else
    waits[i] = struct.pack('<d', 0)
    times[key], changed[key] = full + every, true
  end
end
for key in pairs(changed) do
  redis.call('SET', key, string.format('%.0f', times[key]), 'PX', math.ceil((times[key] - now) / 1000))
end
return table.concat(waits)
