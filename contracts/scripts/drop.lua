#!lua flags=allow-oom
-- drop: removes a dead letter and its image.
--
-- KEYS 1 stream of dead letters    2 image of the task that died
-- ARGV 1 entry id of the letter
--
-- Returns how many letters were removed: 1, or 0 where there was none
local removed = redis.call('XDEL', KEYS[1], ARGV[1])
if removed == 1 then redis.call('DEL', KEYS[2]) end
if redis.call('XLEN', KEYS[1]) == 0 then redis.call('DEL', KEYS[1]) end
return removed
