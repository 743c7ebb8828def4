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
