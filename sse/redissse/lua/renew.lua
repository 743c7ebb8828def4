-- Keeps the lease of an instance, and returns all holders.
-- KEYS[1] instances ZSET  instance -> until when its lease lasts, in ms
-- ARGV[1] instance  ARGV[2] its lease from now on, in ms
-- returns the time in ms, and the instances whose leases have not ended
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
redis.call('ZADD', KEYS[1], now + tonumber(ARGV[2]), ARGV[1])
local longest = redis.call('ZREVRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]
redis.call('PEXPIRE', KEYS[1], longest - now + 60000)
return {now, redis.call('ZRANGE', KEYS[1], 0, -1)}
