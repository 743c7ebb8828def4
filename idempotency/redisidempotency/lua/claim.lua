-- Takes a key that is new, released, or whose lease ran out under the same
-- fingerprint. Sent again with the same number, it answers the same.
-- KEYS[1] the lease, a hash: state, token, fingerprint, until (µs), result, claim
-- ARGV[1] fingerprint  ARGV[2] lease in µs  ARGV[3] how long the hash is kept, ms
-- ARGV[4] the number of this claim
-- returns {'claimed', token} | {'taken', µs left} | {'done', result} | {'mismatch'}
local now = redis.call('TIME')
local us = now[1] * 1000000 + now[2]
local l = redis.call('HMGET', KEYS[1], 'state', 'token', 'fingerprint', 'until', 'result', 'claim')
local state = l[1]
if state and state ~= 'RELEASED' then
  if l[3] ~= ARGV[1] then
    return {'mismatch'}
  end
  if state == 'COMPLETED' then
    return {'done', l[5] or ''}
  end
  local left = tonumber(l[4]) - us
  if left > 0 and l[6] == ARGV[4] then
    return {'claimed', l[2]}
  end
  if left > 0 then
    return {'taken', string.format('%.0f', left)}
  end
end
-- Above all earlier tokens, also of a hash that expired, while the clock does
-- not go back. Numbers of this size are exact, but print in full only so.
local token = string.format('%.0f', math.max((tonumber(l[2]) or 0) + 1, us))
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'state', 'CLAIMED', 'token', token, 'fingerprint', ARGV[1],
  'until', string.format('%.0f', us + ARGV[2]), 'claim', ARGV[4])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return {'claimed', token}
