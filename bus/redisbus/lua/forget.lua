-- Removes a group from a partition while its lease is held, and the lease.
-- KEYS[1] the stream, KEYS[2] the lease
-- ARGV[1] the holder, ARGV[2] the token
-- ARGV[3] the group
-- Returns 1, or 0 when the lease was lost.
local lease = redis.call('HMGET', KEYS[2], 'holder', 'token')
if lease[1] ~= ARGV[1] or lease[2] ~= ARGV[2] then
  return 0
end
redis.call('XGROUP', 'DESTROY', KEYS[1], ARGV[3])
redis.call('DEL', KEYS[2])
return 1
