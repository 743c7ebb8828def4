-- Gives a lease up and tells the group.
-- KEYS[1] the lease
-- ARGV[1] the holder, ARGV[2] the token
-- ARGV[3] the topic's channel
-- Returns 1, or 0 when the lease was lost before.
local lease = redis.call('HMGET', KEYS[1], 'holder', 'token')
if lease[1] ~= ARGV[1] or lease[2] ~= ARGV[2] then
  return 0
end
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', ARGV[3], 'group')
return 1
