-- Removes waiting users without a sign of life.
-- KEYS[1] queue  KEYS[2] seen: as in check.lua
-- ARGV[1] since when, ms
-- returns how many
local dead = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', '(' .. ARGV[1])
for _, user in ipairs(dead) do
  redis.call('ZREM', KEYS[1], user)
  redis.call('ZREM', KEYS[2], user)
end
return #dead
