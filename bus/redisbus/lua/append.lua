-- Appends messages to one partition, all of them or none, and wakes its readers.
-- KEYS[1] the stream
-- ARGV[1] how long the stream may become, 0 for no bound
-- ARGV[2] the topic's channel
-- ARGV[3] the partition's number
-- ARGV[4] … id, metadata and payload of each message
-- Returns the length of the stream, or -1 when it is full and nothing was appended.
local bound = tonumber(ARGV[1])
if bound > 0 and redis.call('XLEN', KEYS[1]) + (#ARGV - 3) / 3 > bound then
  return -1
end
for i = 4, #ARGV, 3 do
  redis.call('XADD', KEYS[1], '*',
    '_watermill_message_uuid', ARGV[i], 'metadata', ARGV[i + 1], 'payload', ARGV[i + 2])
end
redis.call('PUBLISH', ARGV[2], ARGV[3])
return redis.call('XLEN', KEYS[1])
