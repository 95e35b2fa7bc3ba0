-- replay: makes a task anew of a dead letter and the image that was kept with it. Nobody waits for it: its result is
-- stored, and its answer cached. It is admitted whatever the backlog, since an operator asked for it.
--
-- KEYS 1 stream of dead letters    2 image of the task that died    3 task hash    4 image of the new task
--      5 stream of the lane    6 work in flight (hash)    7 load account (hash)
-- ARGV 1 entry id of the letter    2 task id    3 milliseconds until the deadline    4 SHA-256    5 work key    6 tenant
--      7 bytes of the image    8 entry
--
-- Returns 'replayed', 'none' (there is no such letter) or 'image' (it was kept no longer)
if #redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1]) == 0 then return 'none' end
if redis.call('EXISTS', KEYS[2]) == 0 then return 'image' end
redis.call('RENAME', KEYS[2], KEYS[4])
redis.call('PERSIST', KEYS[4])
local marked = redis.call('HSETNX', KEYS[6], ARGV[5], ARGV[2]) == 1
local entry = redis.call('XADD', KEYS[5], '*', 'task', ARGV[8])
local deadline = string.format('%.0f', string.match(entry, '^%d+') + ARGV[3])
redis.call('HSET', KEYS[3], 'deadline', deadline, 'edges', '', 'ledger',
  entry .. ' ' .. ARGV[7] .. ' ' .. ARGV[4] .. ' ' .. (marked and ARGV[5] or '-') .. ' ' .. ARGV[6])
for _, suffix in ipairs({ '', ':' .. ARGV[6] }) do
  redis.call('HINCRBY', KEYS[7], 'count' .. suffix, 1)
  redis.call('HINCRBY', KEYS[7], 'bytes' .. suffix, ARGV[7])
end
redis.call('HINCRBY', KEYS[7], 'admitted', 1)
redis.call('XDEL', KEYS[1], ARGV[1])
if redis.call('XLEN', KEYS[1]) == 0 then redis.call('DEL', KEYS[1]) end
return 'replayed'
