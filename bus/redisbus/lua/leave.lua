-- Removes a member of a group and tells the others.
-- KEYS[1] the members
-- ARGV[1] the member
-- ARGV[2] the topic's channel
-- Returns 1 when it was there, else 0.
local gone = redis.call('HDEL', KEYS[1], ARGV[1])
if gone == 1 then
  redis.call('PUBLISH', ARGV[2], 'group')
end
return gone
