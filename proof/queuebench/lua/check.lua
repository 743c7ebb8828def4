-- Joins or polls, as scripts usually do it.
-- KEYS[1] queue: ZSET of waiting users by the time of arrival  KEYS[2] seen: ZSET of
-- waiting users by the last sign of life  KEYS[3] active: ZSET by expiry
-- ARGV[1] user  ARGV[2] now, ms  ARGV[3] threshold  ARGV[4] time inside, ms
-- returns 1 active or 0 waiting, how many are before, how many wait, how many are active
local user, now = ARGV[1], tonumber(ARGV[2])
local expiry = redis.call('ZSCORE', KEYS[3], user)
local active = redis.call('ZCOUNT', KEYS[3], now, '+inf')
local waiting = redis.call('ZCARD', KEYS[1])
if expiry and tonumber(expiry) > now then return {1, 0, waiting, active} end
if not redis.call('ZSCORE', KEYS[1], user) then
  if waiting == 0 and active < tonumber(ARGV[3]) then
    redis.call('ZADD', KEYS[3], now + ARGV[4], user)
    return {1, 0, 0, active + 1}
  end
  redis.call('ZADD', KEYS[1], now, user)
  waiting = waiting + 1
end
redis.call('ZADD', KEYS[2], now, user)
return {0, redis.call('ZRANK', KEYS[1], user), waiting, active}
