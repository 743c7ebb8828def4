-- Made by go run ./scripts/glue of moment, plan, day, share, return in parts. Edit those.
-- Begins every script: when it decides, and on whose clock. It reads no key.
-- clock is the server's time, in µs since 1970. The replication id of the server
-- is new at each start of a master and each promotion; see doc.go.
local call, pack, unpack = redis.call, struct.pack, struct.unpack
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
local info = call('INFO', 'replication')

-- follows says whether state of a server, last changed then, can be gone on with.
local function follows(id, last)
  return last <= clock + 1000000 and string.find(info, 'master_replid:' .. id, 1, true)
end

-- this_server is the id that new state carries.
local function this_server()
  return string.match(info, 'master_replid:(%x+)')
end
-- Follows moment.lua in every script: its arguments.
-- ARGV[1] packed doubles, all of them whole and below 2^53, times in µs:
--   rate, low_rate, per second, or per window in the strict mode
--   burst, low_burst; window, of the strict mode
--   span: how long to yield, or how late a permit can come back
--   low_share: percent of low_rate that low has at least; hold: how long high leaves
--   it alone after the time at which low was told to try again
--   limit of a day, 0 for none; its high reserve; its offset
--   seen_day, seen_used: the day that the caller has seen, and its count
--   and from the place rest on the script's own arguments
local rate, low_rate, burst, low_burst, window, span, low_share, hold, limit, reserve, offset,
  seen_day, seen_used, rest = unpack('<ddddddddddddd', ARGV[1])

-- kept is the time that unused state stays, ms. A day must be over by then;
-- buckets would be empty after it, and a window block. It is set again with the first
-- write of an hour; with each, it would cost more than the write.
local kept, hour = 172800000, 3600000000
-- Follows plan.lua in every script: the count of the day. The day's key holds
-- number and count of the day, packed doubles. Without a limit it is not used.
local day_of, tally
if limit > 0 then
  function day_of(at)
    return math.floor((at - offset) / 86400000000)
  end

  -- tally continues the higher of the stored count and the caller's. A count of
  -- tomorrow is that of a clock that has been set back over midnight, and is continued.
  -- A day that is further away is a mistake that must not last: its stored count counts
  -- for today, a caller's count of it does not.
  function tally(now, stored)
    local today = day_of(now)
    local day, used = today, 0
    if stored and #stored == 16 then
      local d, u = unpack('<dd', stored)
      if d >= today then
        used = u
        if d == today + 1 then day = d end
      end
    end
    if seen_day == day then
      used = math.max(used, seen_used)
    elseif seen_day == today + 1 then
      day, used = seen_day, seen_used
    end
    return day, used
  end
end
-- Follows day.lua in every script: the least share of low priority, a bucket that all
-- calls of low priority empty. A call is as many units as make its refill whole:
-- low_share hundredths of low_rate, per second, or per window of the strict mode.
local share_rate = low_rate * low_share
local share, waits = 0, 0 -- what is in it; high leaves it alone before this time

-- share_after is the share after so many µs without a call.
local function share_after(units, elapsed, full)
  if share_rate == 0 then return 0 end
  -- Beyond this the product could leave the 53 bits.
  if elapsed < math.ceil(full / share_rate) then
    return math.min(full, units + math.max(0, elapsed) * share_rate)
  end
  return full
end
-- Gives a permit back to the buckets: its size less the refill since its grant, or else
-- usage could exceed the bound. Nothing happens when it is too late, or the state is not
-- that of the grant.
-- KEYS as in acquire.lua
-- ARGV[1] as in plan.lua, span is the delay, and then
--   0 low, 1 high; size; at, as acquire.lua returned it
-- returns 1, or 0 when nothing happened
local min, max = math.min, math.max
local stored
if limit > 0 then
  stored = call('MGET', KEYS[1], KEYS[2], KEYS[3])
else
  stored = call('MGET', KEYS[1], KEYS[2])
end
local state = stored[1]
if not state or #state ~= 88 and #state ~= 72 then return 0 end
local id, born, last, tokens, yield = unpack('<c40dddd', state)
if not follows(id, last) then return 0 end
local now = max(clock, last)
local kind, size, at = unpack('<ddd', ARGV[1], rest)
local age = now - at
if at <= born or age < 0 or age > span then return 0 end

local function filled(tokens, elapsed, speed, burst)
  local most = burst * 1000000
  tokens = min(most, tokens + max(0, elapsed) * speed)
  return min(most, tokens + max(0, size * 1000000 - age * speed))
end

-- keep writes a value whose last change was at last.
local function keep(key, value, last)
  if now % hour < now - last then
    call('SET', key, value, 'PX', kept)
  else
    call('SET', key, value, 'KEEPTTL')
  end
end

tokens = filled(tokens, now - last, rate, burst)
if #state == 88 then
  local full = 2 * 100000000
  share, waits = unpack('<dd', state, 73)
  share = share_after(min(share, full), now - last, full)
end
keep(KEYS[1], pack('<c40dddddd', id, born, now, tokens, yield, share, waits), last)
if kind == 0 and stored[2] and #stored[2] == 16 then
  local low_last, low = unpack('<dd', stored[2])
  low = filled(low, now - low_last, low_rate, low_burst)
  keep(KEYS[2], pack('<dd', now, low), low_last)
end

if limit > 0 and day_of(at) == day_of(now) then
  local day, used = tally(now, stored[3])
  call('SET', KEYS[3], pack('<dd', day, max(0, used - size)), 'PX', kept)
end
return 1
