#!lua flags=allow-oom
-- solo: records that a claimed entry is about to run alone, before it does: what ends the process is then known.
-- It must work where memory is full, since only runs and their ends free memory.
--
-- KEYS 1 stream of the lane    2 task hash
-- ARGV 1 group    2 consumer    3 entry id    4 most solo starts
--
-- Returns 'started', solo starts, deliveries
--      or 'over', solo starts, deliveries: it has had them all, and is not to run again
--      or 'gone': the task has left
--      or 'lost': the entry is not this consumer's
if redis.call('EXISTS', KEYS[2]) == 0 then return { 'gone' } end
local held = redis.call('XPENDING', KEYS[1], ARGV[1], ARGV[3], ARGV[3], 1, ARGV[2])
if #held == 0 then return { 'lost' } end
local starts = tonumber(redis.call('HGET', KEYS[2], 'solos') or 0)
if starts >= tonumber(ARGV[4]) then return { 'over', starts, held[1][4] } end
return { 'started', redis.call('HINCRBY', KEYS[2], 'solos', 1), held[1][4] }
