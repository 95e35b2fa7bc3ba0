#!lua flags=allow-oom
-- withdraw: marks a submission as cancelled, unless its task has ended already. Whoever marked it then lets the task
-- leave as one of its waiters, once.
--
-- KEYS 1 submission (hash)
-- ARGV 1 submission id    2 tenant that asks
--
-- Returns 'none' (or another tenant's), 'before' (it was cancelled or has expired before), 'ended', or 'cancelled <task id>'
local asked = redis.call('HMGET', KEYS[1], 'tenant', 'task', 'ended')
if asked[1] ~= ARGV[2] then return 'none' end
if asked[3] then return 'before' end
local base = string.sub(KEYS[1], 1, -#('submission:' .. ARGV[1]) - 1)
if redis.call('EXISTS', base .. 'task:' .. asked[2]) == 0 then return 'ended' end
redis.call('HSET', KEYS[1], 'ended', 'cancelled')
return 'cancelled ' .. asked[2]
