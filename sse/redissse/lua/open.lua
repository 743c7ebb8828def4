-- Made by go run ./scripts/glue of ghosts, open in parts. Edit those.
-- Begins open.lua and sweep.lua: the deciding clock, and the ghosts.
-- KEYS[1] streams ZSET  connection -> connected-at in ms
-- KEYS[2] tabs    HASH  connection -> token of its tab
-- KEYS[3] evicted ZSET  token -> until when it is remembered as evicted, in ms
-- ARGV[1] lifetime in ms
-- ARGV[2] when the leases were looked at, in ms
-- ARGV[3] how many instances had one then, and ARGV[4] … which
-- Own arguments of a script follow.
-- Cost: the entries of one member, of which there are as many as the cap allows.
local call = redis.call
local STREAMS, TABS, EVICTED = KEYS[1], KEYS[2], KEYS[3]
local lifetime, looked, instances = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local own = 3 + instances
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function remove(connection)
  call('ZREM', STREAMS, connection)
  call('HDEL', TABS, connection)
end

-- purge removes the ghosts, and returns how many there were.
local function purge()
  local live, removed = {}, 0
  for i = 4, own do live[ARGV[i]] = true end
  local entries = call('ZRANGE', STREAMS, 0, -1, 'WITHSCORES')
  for i = 1, #entries, 2 do
    local connection, at = entries[i], tonumber(entries[i + 1])
    local instance = string.match(connection, '^(.*)%.') or connection
    if at + lifetime < now or (not live[instance] and at < looked) then
      remove(connection)
      removed = removed + 1
    end
  end
  call('ZREMRANGEBYSCORE', EVICTED, '-inf', now)
  return removed
end
-- Registers a connection of a member, and evicts others beyond the cap: the silent
-- first, then the oldest.
-- KEYS as in ghosts.lua
-- ARGV after those of ghosts.lua: connection, token, cap, how many evicted tokens
--   are remembered at least, 1 when there is to be no victim and else 0, how many
--   connections are gone, which, and then those that are silent
-- returns {'evicted'} when the tab was evicted, {'known'} when the connection is
--   registered already, {'full', ghosts removed, connection and token of each that is
--   registered, oldest first} when there would be a victim and is to be none, and else
--   {'opened', ghosts removed, n replaced, n times connection and token, and then
--   connection and token of each victim}
local connection, token = ARGV[own + 1], ARGV[own + 2]
local cap, remembered = tonumber(ARGV[own + 3]), tonumber(ARGV[own + 4])
local spare, gone = ARGV[own + 5] == '1', own + 6
local silent = gone + tonumber(ARGV[gone]) + 1

-- last is the highest score; the next is above it, so that two within a millisecond, or
-- after the clock was set back, keep their order.
local function last(key)
  return tonumber(call('ZREVRANGE', key, 0, 0, 'WITHSCORES')[2] or 0)
end

if tonumber(call('ZSCORE', EVICTED, token) or 0) > now then
  return {'evicted'}
end
if call('ZSCORE', STREAMS, connection) then
  return {'known'}
end
local ghosts = 0
for i = gone + 1, silent - 1 do
  ghosts = ghosts + call('ZREM', STREAMS, ARGV[i])
  call('HDEL', TABS, ARGV[i])
end
ghosts = ghosts + purge()
local tabs = call('HGETALL', TABS)
if spare then
  local others = call('ZCARD', STREAMS)
  for i = 2, #tabs, 2 do
    if tabs[i] == token then others = others - 1 end
  end
  if others >= cap then
    local full = {'full', ghosts}
    for _, each in ipairs(call('ZRANGE', STREAMS, 0, -1)) do
      full[#full + 1] = each
      full[#full + 1] = call('HGET', TABS, each) or ''
    end
    return full
  end
end
local answer = {'opened', ghosts, 0}
for i = 1, #tabs, 2 do
  if tabs[i + 1] == token then
    remove(tabs[i])
    answer[3] = answer[3] + 1
    answer[#answer + 1] = tabs[i]
    answer[#answer + 1] = token
  end
end
call('ZADD', STREAMS, math.max(now, last(STREAMS) + 1), connection)
call('HSET', TABS, connection, token)

local beyond = call('ZCARD', STREAMS) - cap
if beyond > 0 then
  local mute, victims = {}, {}
  for i = silent, #ARGV do mute[ARGV[i]] = true end
  local entries = call('ZRANGE', STREAMS, 0, -2) -- the last is the new one
  for _, wanted in ipairs({true, false}) do
    for _, each in ipairs(entries) do
      if (mute[each] or false) == wanted and #victims < beyond then victims[#victims + 1] = each end
    end
  end
  for _, victim in ipairs(victims) do
    local theirs = call('HGET', TABS, victim) or ''
    remove(victim)
    call('ZADD', EVICTED, math.max(now + lifetime, last(EVICTED) + 1), theirs)
    answer[#answer + 1] = victim
    answer[#answer + 1] = theirs
  end
  call('ZREMRANGEBYRANK', EVICTED, 0, -1 - remembered)
  call('PEXPIRE', EVICTED, lifetime + 60000)
end
-- Entries without a sweep expire. No entry counts beyond its lifetime.
call('PEXPIRE', STREAMS, lifetime + 60000)
call('PEXPIRE', TABS, lifetime + 60000)
return answer
