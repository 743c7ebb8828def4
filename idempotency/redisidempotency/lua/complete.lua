-- Keeps the result of a lease. Done again it changes nothing.
-- KEYS[1] the lease  ARGV[1] token  ARGV[2] result  ARGV[3] kept for, ms
-- returns 1, or 0 when the lease is lost
local l = redis.call('HMGET', KEYS[1], 'state', 'token')
if l[2] ~= ARGV[1] or l[1] == 'RELEASED' then
  return 0
end
if l[1] == 'CLAIMED' then
  redis.call('HSET', KEYS[1], 'state', 'COMPLETED', 'result', ARGV[2])
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
end
return 1
