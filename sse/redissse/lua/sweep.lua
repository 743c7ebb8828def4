-- Made by go run ./scripts/glue of ghosts, sweep in parts. Edit those.
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
-- Removes the ghosts of a member.
-- KEYS and ARGV as in ghosts.lua
-- returns how many there were, and how many entries are left
return {purge(), call('ZCARD', STREAMS)}
