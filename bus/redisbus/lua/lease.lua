-- Takes a partition for a holder of a group, and makes the group when it is new.
-- KEYS[1] the stream, KEYS[2] the lease
-- ARGV[1] the group
-- ARGV[2] the holder
-- ARGV[3] milliseconds until the lease is over; 0 only makes the group
-- Returns {1, token, id, count, made}: the last message that the group has done,
-- how many of the stream's messages that makes (-1 unknown), and whether the
-- group was made here; or {0} when another holder has the partition.
--
-- Messages that a consumer of XREADGROUP has not acknowledged are reclaimed: the
-- group goes back to before the first of them.
local function field(list, name)
  for i = 1, #list, 2 do
    if list[i] == name then
      return list[i + 1]
    end
  end
end

local function group_state()
  for _, g in ipairs(redis.call('XINFO', 'GROUPS', KEYS[1])) do
    if field(g, 'name') == ARGV[1] then
      return g
    end
  end
end

local made = 0
if redis.call('EXISTS', KEYS[1]) == 0 or not group_state() then
  redis.call('XGROUP', 'CREATE', KEYS[1], ARGV[1], '0', 'MKSTREAM')
  made = 1
end
local lease = redis.call('HMGET', KEYS[2], 'holder', 'token')
if lease[1] and lease[1] ~= ARGV[2] then
  return { 0 }
end

-- The id before the given one. Its second part counts within a millisecond.
local function before(id)
  local ms, seq = string.match(id, '^(%d+)-(%d+)$')
  if seq ~= '0' then
    return ms .. '-' .. string.format('%.0f', tonumber(seq) - 1)
  end
  if ms == '0' then
    return '0-0'
  end
  return string.format('%.0f', tonumber(ms) - 1) .. '-18446744073709551615'
end

local group = group_state()
local id, count = field(group, 'last-delivered-id'), field(group, 'entries-read')
if field(group, 'pending') > 0 then
  id = before(redis.call('XPENDING', KEYS[1], ARGV[1])[2])
  count = false
  redis.call('XGROUP', 'SETID', KEYS[1], ARGV[1], id)
  while true do
    local batch = redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 500)
    if #batch == 0 then
      break
    end
    local ids = {}
    for i, p in ipairs(batch) do
      ids[i] = p[1]
    end
    redis.call('XACK', KEYS[1], ARGV[1], unpack(ids))
  end
  group = group_state()
end
-- Redis knows the lag of a group without counting at both ends of the stream,
-- and wherever the count of its messages was kept.
local lag = field(group, 'lag')
if lag then
  count = field(redis.call('XINFO', 'STREAM', KEYS[1]), 'entries-added') - lag
end

local token = 0
if tonumber(ARGV[3]) > 0 then
  -- Not the number before plus one alone: the lease may have expired, or the
  -- server may have lost it, and a token must never come back.
  local now = redis.call('TIME')
  token = math.max(tonumber(now[1]) * 1000000 + tonumber(now[2]), (tonumber(lease[2]) or 0) + 1)
  redis.call('HSET', KEYS[2], 'holder', ARGV[2], 'token', string.format('%.0f', token))
  redis.call('PEXPIRE', KEYS[2], ARGV[3])
end
return { 1, token, id, count or -1, made }
