-- Moves the deadline of a lease.
-- KEYS[1] the lease  ARGV[1] token  ARGV[2] lease in µs  ARGV[3] kept for, ms
-- returns 1, or 0 when the lease is lost
local l = redis.call('HMGET', KEYS[1], 'state', 'token')
if l[1] ~= 'CLAIMED' or l[2] ~= ARGV[1] then
  return 0
end
local now = redis.call('TIME')
redis.call('HSET', KEYS[1], 'until', string.format('%.0f', now[1] * 1000000 + now[2] + ARGV[2]))
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
