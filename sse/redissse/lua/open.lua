-- Registers a connection of a member, and evicts the oldest beyond the cap.
-- KEYS as in ghosts.lua, which stands before
-- ARGV after those of ghosts.lua: connection, token, cap, how many evicted tokens
--   are remembered at least
-- returns {'evicted'} when the tab was evicted, {'known'} when the connection is
--   registered already, and else {'opened', ghosts removed, n replaced, n times
--   connection and token, and then connection and token of each victim, oldest first}
local connection, token = ARGV[own + 1], ARGV[own + 2]
local cap, remembered = tonumber(ARGV[own + 3]), tonumber(ARGV[own + 4])

-- last is the highest score, so that what comes next can be above it: two
-- within a millisecond, or after the clock was set back, keep their order.
local function last(key)
  return tonumber(call('ZREVRANGE', key, 0, 0, 'WITHSCORES')[2] or 0)
end

if tonumber(call('ZSCORE', EVICTED, token) or 0) > now then
  return {'evicted'}
end
if call('ZSCORE', STREAMS, connection) then
  return {'known'}
end
local answer = {'opened', purge(), 0}
local tabs = call('HGETALL', TABS)
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
  for _, victim in ipairs(call('ZRANGE', STREAMS, 0, beyond - 1)) do
    local theirs = call('HGET', TABS, victim) or ''
    remove(victim)
    call('ZADD', EVICTED, math.max(now + lifetime, last(EVICTED) + 1), theirs)
    answer[#answer + 1] = victim
    answer[#answer + 1] = theirs
  end
  call('ZREMRANGEBYRANK', EVICTED, 0, -1 - remembered)
  call('PEXPIRE', EVICTED, lifetime + 60000)
end
-- What nobody sweeps goes by itself. No entry counts beyond its lifetime.
call('PEXPIRE', STREAMS, lifetime + 60000)
call('PEXPIRE', TABS, lifetime + 60000)
return answer
