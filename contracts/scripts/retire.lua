-- retire: removes a consumer from a group, unless it holds entries (removing it would discard them).
--
-- KEYS 1 stream
-- ARGV 1 group    2 consumer
--
-- Returns 1 when the consumer is gone, 0 when it still holds entries.
-- Without stream or group, as after a flush, there is no consumer.
local held = redis.pcall('XPENDING', KEYS[1], ARGV[1], '-', '+', 1, ARGV[2])
if held.err then
  if string.find(held.err, '^NOGROUP') then return 1 end
  return held
end
if #held > 0 then return 0 end
redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], ARGV[2])
return 1
