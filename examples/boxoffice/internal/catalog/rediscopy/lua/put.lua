-- Keeps a copy, unless one was evicted since it was begun.
-- KEYS[1] the copy, KEYS[2] its version
-- ARGV[1] the version when the copy was begun, ARGV[2] how long it lasts in ms, ARGV[3] the copy
-- returns nothing
if (redis.call('GET', KEYS[2]) or '0') == ARGV[1] then
  redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[2])
end
