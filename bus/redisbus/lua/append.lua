-- Appends messages to one partition, all of them or none.
-- KEYS[1] the stream
-- ARGV[1] how long the stream may become, 0 for no bound
-- ARGV[2] … id, metadata and payload of each message
-- Returns the length of the stream, or -1 when it is full and nothing was appended.
local bound = tonumber(ARGV[1])
if bound > 0 and redis.call('XLEN', KEYS[1]) + (#ARGV - 1) / 3 > bound then
  return -1
end
local function add(call, id, i)
  return call('XADD', KEYS[1], id,
    '_watermill_message_uuid', ARGV[i], 'metadata', ARGV[i + 1], 'payload', ARGV[i + 2])
end
-- A new stream, as after FLUSHALL, begins in the next millisecond: a reader behind the
-- last message of the one before would pass over messages with ids of the same
-- millisecond. A stream that is only empty may be there already.
local rest = 2
if redis.call('XLEN', KEYS[1]) == 0 then
  local now = redis.call('TIME')
  local id = string.format('%.0f-0', now[1] * 1000 + math.floor(now[2] / 1000) + 1)
  if type(add(redis.pcall, id, 2)) == 'string' then
    rest = 5
  end
end
for i = rest, #ARGV, 3 do
  add(redis.call, '*', i)
end
return redis.call('XLEN', KEYS[1])
