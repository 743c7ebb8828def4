-- Says that a member of a group lives.
-- KEYS[1] the members: a hash of id to "joined until", in microseconds
-- ARGV[1] the member
-- ARGV[2] milliseconds until it counts as dead
-- ARGV[3] the topic's channel
-- Returns 1 when it is new, else 0.
local t = redis.call('TIME')
local now = tonumber(t[1]) * 1000000 + tonumber(t[2])
local joined, new = nil, 0
for _, id in ipairs(redis.call('HKEYS', KEYS[1])) do
  local since, til = string.match(redis.call('HGET', KEYS[1], id), '^(%d+) (%d+)$')
  if tonumber(til) <= now then
    redis.call('HDEL', KEYS[1], id)
  elseif id == ARGV[1] then
    joined = since
  end
end
if not joined then
  joined, new = string.format('%.0f', now), 1
end
redis.call('HSET', KEYS[1], ARGV[1], joined .. ' ' .. string.format('%.0f', now + tonumber(ARGV[2]) * 1000))
-- Nothing is left of a group that has died out.
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
if new == 1 then
  redis.call('PUBLISH', ARGV[3], 'group')
end
return new
