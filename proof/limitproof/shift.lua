-- Moves the stored times of the buckets. For the scripts of the store this is a step of the
-- clock the other way.
-- KEYS[1] global: replication id of the server, born, time, tokens, yield, share, waits
-- KEYS[2] low_cap: time, tokens
-- ARGV[1] by how much, µs
-- returns 1, or 0 when there is no state
local state = redis.call('GET', KEYS[1])
if not state or #state ~= 88 then return 0 end
local by = tonumber(ARGV[1])
local born, last, tokens, yield, share, waits = struct.unpack('<dddddd', state, 41)
if yield > 0 then yield = yield + by end
if waits > 0 then waits = waits + by end
redis.call('SET', KEYS[1], string.sub(state, 1, 40) .. struct.pack('<dddddd', born + by, last + by, tokens, yield, share, waits), 'KEEPTTL')
local low = redis.call('GET', KEYS[2])
if low and #low == 16 then
  local at, left = struct.unpack('<dd', low)
  redis.call('SET', KEYS[2], struct.pack('<dd', at + by, left), 'KEEPTTL')
end
return 1
