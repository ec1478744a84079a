<?php

declare(strict_types=1);

namespace Larder\Store\Redis;

/**
 * The steps that the server does in one piece, in its own language.
 *
 * Where things lie, with <p> for the prefix and <e> for the epoch (16 hexadecimal digits):
 *
 *   <p>:head        "<e> <end of the log> <last version of unlogged records> <run id of the server>": one key, so
 *                   that an eviction takes all of it or nothing, and who reads it knows that the rest still counts
 *   <p>:sweep       a SCAN cursor, there while keys of former epochs may be left
 *   <p>:<e>:r:<key> a record: position (16 decimal digits), position of the last change before it by somebody else
 *                   than its writer (16), writer (12), kind (1), body
 *   <p>:<e>:j       the log, a stream: entry <position>-0 with k(ey), w(riter), t (kind), p (as in the record)
 *   <p>:<e>:i       its index, a sorted set: key to position; the member '' has the position after which the index
 *                   is complete. With it the last change of a key that has no record is one look-up, however busy
 *                   the log is.
 *   <p>:<e>:t:<id>  a body on its way: HEADER bytes to be filled in, then the body. Lua hashes every byte of every
 *                   string that it gets or makes, 1.7 ns a byte on a machine where SET needs 0.1: a large body goes
 *                   past it, and the script fills in the header and renames.
 *
 * Positions stay below 2^53, where a Lua number is exact; they are written by %.0f, for ".." would round them
 * from 10^14 on.
 */
final class Script
{
    /** Length of what stands before the body in a record. */
    public const HEADER = 45;

    /**
     * Finds the epoch or begins a new one; what changed since a position; records.
     *
     * KEYS: head, sweep. ARGV: prefix, an id for a new epoch, '1' on a new connection, the epoch and the end that
     * this store has seen, the epoch and the position of which the changes are wanted, keys of records...
     * Gives: epoch, end, 1 if something is left to sweep, 1 if the list is complete, the list, records... unless they
     * are large together, which is for MGET.
     */
    private const OPEN = <<<'LUA'
        local epoch, n, run = false, 0, ''
        local head = redis.call('GET', KEYS[1])
        if head then
          epoch, n, run = string.match(head, '^(%x+) (%d+) %d+ (%w*)$')
          n = tonumber(n or 0)
        end
        local seen = epoch == ARGV[4] and tonumber(ARGV[5]) or 0
        -- Without a run id (an ACL user without INFO) a former end is all that can tell of an older snapshot.
        if run == '' and epoch == ARGV[6] then seen = math.max(seen, tonumber(ARGV[7])) end
        local lost, here = not epoch or n < seen, ''
        if lost or ARGV[3] == '1' then
          local info = redis.pcall('INFO', 'server')
          if type(info) == 'string' then here = string.match(info, 'run_id:(%w+)') or '' end
        end
        if lost or (here ~= '' and here ~= run) then
          epoch, n = ARGV[2], 0
          redis.call('DEL', KEYS[1])
          redis.call('SET', KEYS[1], epoch .. ' 0 0 ' .. here)
          redis.call('SET', KEYS[2], '0')
        end
        local base = ARGV[1] .. ':' .. epoch .. ':'
        local complete, list = 0, {}
        if epoch == ARGV[6] then
          local from = tonumber(ARGV[7])
          if from == n then
            complete = 1
          elseif from < n and n - from < 12000 then
            list = redis.call('XRANGE', base .. 'j', string.format('%.0f', from + 1), string.format('%.0f', n))
            if #list == n - from then complete = 1 else list = {} end
          end
        end
        local reply = {epoch, n, redis.call('EXISTS', KEYS[2]), complete, list}
        local size = 0
        for i = 8, #ARGV do size = size + redis.call('STRLEN', base .. 'r:' .. ARGV[i]) end
        if size < 131072 then
          for i = 8, #ARGV do reply[i - 2] = redis.call('GET', base .. 'r:' .. ARGV[i]) end
        end
        return reply
        LUA;

    /**
     * One conditional write. Its 'i' is Change::HELD.
     *
     * KEYS: head, log, index, the record, records of the guards... ARGV: epoch, key, writer, kind, limit or '' for
     * none, milliseconds to live or 0, 's'trict or 'u'nlogged or '', where the body is ('' if there is none, '1' next,
     * '2' next is the name of a key that has it), the body or the name, the end that this store has seen, then key and
     * limit of each guard...
     * Gives: 1, position, position and writer of the change before, kind of the record there was; or 0, position, writer and kind of the change
     * in the way, the record, number of the guard that stopped it; or 2 for another epoch; or 3 and an error.
     */
    private const WRITE = <<<'LUA'
        local epoch, n, v, run
        local head = redis.call('GET', KEYS[1])
        if head then epoch, n, v, run = string.match(head, '^(%x+) (%d+) (%d+) (%w*)$') end
        if epoch ~= ARGV[1] then return {2} end
        n, v = tonumber(n), tonumber(v)
        if n < tonumber(ARGV[10]) then return {2} end
        local key, writer, kind, mode, where = ARGV[2], ARGV[3], ARGV[4], ARGV[7], ARGV[8]

        local function id(position) return string.format('%.0f-0', position) end

        local function entry(position)
          local e = redis.call('XRANGE', KEYS[2], id(position), id(position))[1]
          if e then return e[2][4], e[2][6], tonumber(e[2][8]) end
        end

        -- The last change of a key: position, writer ('' if unknown), kind, the last one before it by somebody else.
        -- Position 0: none is known; then the fourth says up to where there may have been one. Fifth, if there is a
        -- record: the first byte of its body.
        local function last(key, record)
          local r = redis.call('GETRANGE', record, 0, 45)
          if #r > 44 then
            return tonumber(string.sub(r, 1, 16)), string.sub(r, 33, 44), string.sub(r, 45, 45),
              tonumber(string.sub(r, 17, 32)), string.sub(r, 46)
          end
          local at = redis.call('ZSCORE', KEYS[3], key)
          if at then
            at = tonumber(at)
            local w, t, before = entry(at)
            return at, w or '', t or '', before or at
          end
          return 0, '', '', n > 0 and tonumber(redis.call('ZSCORE', KEYS[3], '') or n) or 0
        end

        -- The change in the way, if there is one; own ones are not, unless they count.
        local function inTheWay(own, limit, at, w, t, before)
          if at == 0 then
            if before > limit then return -1, '', '' end
          elseif at > limit then
            if w ~= writer or own then return at, w, t end
            if before > limit then
              w, t = entry(before)
              if w then return before, w, t end
              return -1, '', ''
            end
          end
        end

        local at, w, t, before, first = 0, '', '', 0, ''
        if mode ~= 'u' or redis.call('EXISTS', KEYS[4]) == 1 then at, w, t, before, first = last(key, KEYS[4]) end
        local limit = tonumber(ARGV[5])
        local p, pw, pt
        if mode == '' and first == 'i' then
          p, pw, pt = at, w, t
        elseif limit then
          p, pw, pt = inTheWay(mode ~= '', limit, at, w, t, before)
          if not p and mode ~= 'u' and limit > n then p, pw, pt = -1, '', '' end
        end
        local function stop(guard)
          if where == '2' then redis.call('UNLINK', ARGV[9]) end
          return {0, p, pw, pt, redis.call('GET', KEYS[4]), guard}
        end
        if p then return stop(0) end
        for i = 5, #KEYS do
          local g = 2 * i + 1
          p, pw, pt = inTheWay(false, tonumber(ARGV[g + 1]), last(ARGV[g], KEYS[i]))
          if p then return stop(i - 4) end
        end

        local function count()
          return redis.pcall('SET', KEYS[1], string.format('%s %.0f %.0f %s', epoch, n, v, run))
        end
        local position
        if mode == 'u' then
          -- Not below the log's end, so that a guard's limit means much the same for records of both sorts.
          v = math.max(v, n) + 1
          position = v
        else
          n = n + 1
          position = n
        end

        -- The server checks its memory at a script's first write only (script.c, scriptVerifyOOM), and never for
        -- DEL: a removal begins with it and is not refused.
        local refused
        if where == '' then
          local done = redis.pcall('DEL', KEYS[4])
          if type(done) == 'table' and done.err then return {3, done.err} end
        elseif where == '2' and redis.call('STRLEN', ARGV[9]) < 45 then
          -- Its SET was refused, or it was evicted at once: then that is what becomes of the record.
          local done = redis.pcall('SET', KEYS[1], head)
          if type(done) == 'table' and done.err then
            refused = done.err
          elseif mode ~= '' then
            return {0, -1, '', '', redis.call('GET', KEYS[4]), 0}
          else
            redis.call('DEL', KEYS[4])
            where = ''
          end
        end
        if not refused then
          local done = count()
          if type(done) == 'table' and done.err then refused = done.err end
        end
        if refused then
          -- No room: what this change would have replaced must not stay either, unless the change is one that has
          -- to find the old record again (a counter, a lock).
          if mode ~= '' or not string.find(refused, 'OOM', 1, true) then return {3, refused} end
          redis.call('DEL', KEYS[4])
          count()
          where, kind = '', 'x'
        end
        local other = before
        if at > 0 and w ~= writer then other = at end
        if mode ~= 'u' then
          local logged = redis.pcall('XADD', KEYS[2], 'MAXLEN', '~', 10000, id(n),
            'k', key, 'w', writer, 't', kind, 'p', string.format('%.0f', other))
          if type(logged) == 'table' and logged.err then
            -- The log is not what it was: nothing of this epoch can be trusted.
            redis.call('DEL', KEYS[1])
            return {2}
          end
          if redis.call('EXISTS', KEYS[3]) == 0 then redis.call('ZADD', KEYS[3], string.format('%.0f', n - 1), '') end
          redis.call('ZADD', KEYS[3], string.format('%.0f', n), key)
          if n % 256 == 0 and n > 10000 then
            local low = string.format('%.0f', n - 10000)
            redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', low)
            if not redis.call('ZSCORE', KEYS[3], '') then redis.call('ZADD', KEYS[3], low, '') end
          end
        end
        if where ~= '' then
          local header = string.format('%016.0f%016.0f', position, other) .. writer .. kind
          if where == '2' then
            redis.call('SETRANGE', ARGV[9], 0, header)
            redis.call('RENAME', ARGV[9], KEYS[4])
            if ARGV[6] == '0' then redis.call('PERSIST', KEYS[4]) else redis.call('PEXPIRE', KEYS[4], ARGV[6]) end
          elseif ARGV[6] == '0' then
            redis.call('SET', KEYS[4], header .. ARGV[9])
          else
            redis.call('SET', KEYS[4], header .. ARGV[9], 'PX', ARGV[6])
          end
        end
        if refused then return {3, refused} end
        return {1, position, at, w, (first or '') ~= '' and t or ''}
        LUA;

    /**
     * The same for a change that nothing is compared with, in half of the time: WRITE without what it does not need.
     *
     * KEYS: head, log, index, the record. ARGV: epoch, key, writer, kind, milliseconds to live or 0, '' for a removal
     * else '1', the body, the end that this store has seen.
     * Gives: 1 and 2 as WRITE does; or 4, having done nothing: it is for WRITE.
     */
    private const PUT = <<<'LUA'
        local call, pcall, key, writer = redis.call, redis.pcall, ARGV[2], ARGV[3]
        local head = call('GET', KEYS[1])
        if not head then return {2} end
        local epoch, n, rest = string.match(head, '^(%x+) (%d+)( .*)$')
        if epoch ~= ARGV[1] then return {2} end
        n = tonumber(n)
        if n < tonumber(ARGV[8]) then return {2} end
        n = n + 1
        if n % 256 == 0 then return {4} end

        local at, w, t, other, complete = 0, '', '', '0', nil
        local r = call('GETRANGE', KEYS[4], 0, 45)
        if #r > 44 then
          -- An intent.
          if string.sub(r, 46) == 'i' then return {4} end
          at, w, t = tonumber(string.sub(r, 1, 16)), string.sub(r, 33, 44), string.sub(r, 45, 45)
          other = w == writer and string.sub(r, 17, 32) or string.sub(r, 1, 16)
        else
          local score = call('ZSCORE', KEYS[3], key)
          if score then
            at, other = tonumber(score), score
            local e = call('XRANGE', KEYS[2], score .. '-0', score .. '-0')[1]
            if e then
              w = e[2][4]
              if w == writer then other = e[2][8] end
            end
          else
            complete = call('ZSCORE', KEYS[3], '')
            if n > 1 then other = complete or string.format('%.0f', n - 1) end
          end
        end

        local position = string.format('%.0f', n)
        if ARGV[6] == '' then
          -- Removals are not refused where there is no memory: before anything else (see WRITE).
          local done = pcall('DEL', KEYS[4])
          if type(done) == 'table' and done.err then return {4} end
        end
        local done = pcall('SET', KEYS[1], epoch .. ' ' .. position .. rest)
        if done.err then return {4} end
        local logged = pcall('XADD', KEYS[2], 'MAXLEN', '~', '10000', position .. '-0',
          'k', key, 'w', writer, 't', ARGV[4], 'p', other)
        if type(logged) == 'table' and logged.err then
          call('DEL', KEYS[1])
          return {2}
        end
        if call('ZADD', KEYS[3], position, key) == 1 and not complete and call('ZCARD', KEYS[3]) == 1 then
          call('ZADD', KEYS[3], string.format('%.0f', n - 1), '')
        end
        if ARGV[6] ~= '' then
          local record = string.rep('0', 16 - #position) .. position .. string.rep('0', 16 - #other) .. other
            .. writer .. ARGV[4] .. ARGV[7]
          if ARGV[5] == '0' then call('SET', KEYS[4], record) else call('SET', KEYS[4], record, 'PX', ARGV[5]) end
        end
        return {1, n, at, w, t}
        LUA;

    /**
     * Removes what former epochs left, one page of keys a call.
     *
     * KEYS: head, sweep. ARGV: pattern of all keys that have an epoch, length of the prefix.
     * Gives 1 while there is more.
     */
    private const SWEEP = <<<'LUA'
        local cursor = redis.call('GET', KEYS[2])
        local epoch = string.match(redis.call('GET', KEYS[1]) or '', '^%x+')
        if not cursor or not epoch then return 0 end
        local page = redis.call('SCAN', cursor, 'MATCH', ARGV[1], 'COUNT', 500)
        local from = tonumber(ARGV[2]) + 2
        for _, key in ipairs(page[2]) do
          local theirs, rest = string.sub(key, from, from + 15), string.sub(key, from + 17)
          -- A longer prefix may look like ours with an epoch; what comes after it tells.
          if theirs ~= epoch and string.match(theirs, '^%x+$')
            and (rest == 'j' or rest == 'i' or string.match(rest, '^[rt]:')) then redis.call('UNLINK', key) end
        end
        redis.call('DEL', KEYS[2])
        if page[1] == '0' then return 0 end
        redis.call('SET', KEYS[2], page[1])
        return 1
        LUA;

    /**
     * About how much there is, from a sample of a thousand keys.
     *
     * KEYS: none. ARGV: what the name of each record begins with.
     * Gives records, their bytes, maxmemory.
     */
    private const STATS = <<<'LUA'
        local page = redis.call('SCAN', '0', 'COUNT', 1000)
        local own, bytes, weighed = 0, 0, 0
        for _, key in ipairs(page[2]) do
          if string.sub(key, 1, #ARGV[1]) == ARGV[1] then
            own = own + 1
            if weighed < 100 then
              local size = redis.pcall('MEMORY', 'USAGE', key)
              if type(size) ~= 'number' then size = redis.call('STRLEN', key) end
              bytes, weighed = bytes + size, weighed + 1
            end
          end
        end
        local entries = own
        if page[1] ~= '0' and own > 0 then
          entries = math.floor(redis.call('DBSIZE') * own / #page[2] + 0.5)
        end
        local info = redis.pcall('INFO', 'memory')
        local most = type(info) == 'string' and string.match(info, 'maxmemory:(%d+)')
        return {entries, math.floor(weighed > 0 and bytes / weighed * entries or 0), tonumber(most or 0)}
        LUA;

    public readonly string $sha;

    private function __construct(public readonly string $lua)
    {
        $this->sha = \sha1($lua);
    }

    public static function open(): self
    {
        return new self(self::OPEN);
    }

    public static function write(): self
    {
        return new self(self::WRITE);
    }

    public static function put(): self
    {
        return new self(self::PUT);
    }

    public static function sweep(): self
    {
        return new self(self::SWEEP);
    }

    public static function stats(): self
    {
        return new self(self::STATS);
    }
}
