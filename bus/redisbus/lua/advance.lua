-- Writes the progress of a group in a partition, and extends the lease.
-- KEYS[1] the stream, KEYS[2] the lease
-- ARGV[1] the holder, ARGV[2] the token
-- ARGV[3] the group
-- ARGV[4] the last message done, or '' to extend the lease only
-- ARGV[5] how many of the stream's messages that makes, -1 when unknown
-- ARGV[6] milliseconds until the lease is over
-- Returns 1, or 0 when the lease was lost.
local lease = redis.call('HMGET', KEYS[2], 'holder', 'token')
if lease[1] ~= ARGV[1] or lease[2] ~= ARGV[2] then
  return 0
end
if ARGV[4] ~= '' then
  local set = { 'XGROUP', 'SETID', KEYS[1], ARGV[3], ARGV[4] }
  if ARGV[5] ~= '-1' then
    set[6], set[7] = 'ENTRIESREAD', ARGV[5]
  end
  if redis.pcall(unpack(set)).err then
    -- The group was destroyed under its reader.
    redis.call('XGROUP', 'CREATE', KEYS[1], ARGV[3], ARGV[4], 'MKSTREAM')
  end
end
redis.call('PEXPIRE', KEYS[2], ARGV[6])
return 1
