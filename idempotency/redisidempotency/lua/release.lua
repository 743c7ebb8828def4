-- Gives a lease back. The hash stays, so that the next token is above this one.
-- KEYS[1] the lease  ARGV[1] token
-- returns 1, or 0 when the lease is lost
local l = redis.call('HMGET', KEYS[1], 'state', 'token')
if l[2] ~= ARGV[1] or l[1] == 'COMPLETED' then
  return 0
end
redis.call('HSET', KEYS[1], 'state', 'RELEASED')
return 1
