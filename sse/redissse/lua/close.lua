-- Removes connections of a member.
-- KEYS[1] streams ZSET, KEYS[2] tabs HASH; see ghosts.lua
-- ARGV[1] … connections
-- returns how many were registered
local removed = 0
for _, connection in ipairs(ARGV) do
  removed = removed + redis.call('ZREM', KEYS[1], connection)
  redis.call('HDEL', KEYS[2], connection)
end
return removed
