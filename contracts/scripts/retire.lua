-- retire: removes a consumer from a group, unless it holds entries (removing it would discard them).
--
-- KEYS 1 stream
-- ARGV 1 group    2 consumer
--
-- Returns 1 when the consumer is gone, 0 when it still holds entries.
if redis.call('EXISTS', KEYS[1]) == 0 then return 1 end
if #redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 1, ARGV[2]) > 0 then return 0 end
redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], ARGV[2])
return 1
