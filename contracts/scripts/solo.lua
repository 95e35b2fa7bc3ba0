#!lua flags=allow-oom
-- solo: records that a claimed entry is about to run alone, before it does: what ends the process is then known. The
-- entry's lease begins anew.
-- Idempotent by delivery. It must work where memory is full, since only runs and their ends free memory.
--
-- KEYS 1 stream of the lane    2 task hash
-- ARGV 1 group    2 consumer    3 entry id    4 most solo starts
--
-- Returns 'started', solo starts, deliveries
--      or 'over', solo starts, deliveries: it has had them all, and is not to run again
--      or 'gone': the task has left
--      or 'lost': the entry is not this consumer's
if redis.call('EXISTS', KEYS[2]) == 0 then return { 'gone' } end
local held = redis.pcall('XPENDING', KEYS[1], ARGV[1], ARGV[3], ARGV[3], 1, ARGV[2])
if held.err then
  if string.find(held.err, '^NOGROUP') then return { 'lost' } end
  return held
end
if #held == 0 then return { 'lost' } end
-- The call may have been on its way for long: nobody else is to claim what begins now.
redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, ARGV[3], 'IDLE', 0, 'JUSTID')
local deliveries = held[1][4]
-- Every claim is another delivery: a start that was told of this one is the same start, sent again.
local told = redis.call('HMGET', KEYS[2], 'solos', 'soloDelivery')
local starts = tonumber(told[1] or 0)
if tonumber(told[2]) == deliveries then return { 'started', starts, deliveries } end
if starts >= tonumber(ARGV[4]) then return { 'over', starts, deliveries } end
redis.call('HSET', KEYS[2], 'solos', starts + 1, 'soloDelivery', deliveries)
return { 'started', starts + 1, deliveries }
