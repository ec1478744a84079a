<?php

declare(strict_types=1);

namespace Larder\Store\Redis;

/**
 * The scripts (Lua) that the server runs atomically.
 *
 * The keys, with <p> for the prefix and <e> for the epoch (16 hexadecimal digits):
 *
 *   <p>:head        "<e> <end of the journal>-<nonce> <last version of records outside it> <server>": one key, so that an
 *                   eviction takes all of it or nothing, and a process that reads it knows that the rest still counts.
 *                   <server> is its run id and its replication id, 20 digits of each with a dot between
 *   <p>:sweep       a SCAN cursor; exists while keys of former epochs may be left
 *   <p>:<e>:r:<key> a record: position (16 decimal digits), position of the last change before it by another writer
 *                   (16), writer (12), kind (1), body
 *   <p>:<e>:j       the journal, a stream: entry <position>-0 with k(ey), w(riter and nonce), t (kind), p (as in the record)
 *   <p>:<e>:i       its index, a sorted set: key to position; the member '' has the position after which the index
 *                   is complete. With it the last change of a key without a record is one look-up, however busy
 *                   the journal is.
 *   <p>:<e>:f       "<position> <position> <writer>": the newest change that the index has forgotten (as its member ''
 *                   says), the newest forgotten one by any other writer, and the first one's writer: a writer's own
 *                   changes do not count against it
 *   <p>:<e>:t:<id>  a body under way: HEADER bytes to be filled in, then the body. Lua hashes every byte of every
 *                   string that it gets or makes, 1.7 ns a byte on a machine where SET needs 0.1. So a large body is sent
 *                   past Lua, and the script fills in the header and renames the key.
 *
 * A nonce is 12 random hexadecimal digits, of one call of write(). A server may be set back while its process lives (it was
 * made a replica of an older server, and a primary again), and then its positions grow as before. A process that knows
 * position and nonce of a former end notices that the journal no longer contains it.
 *
 * An epoch is 11 hexadecimal digits of the milliseconds at which it began, and five random ones. A process that finds an
 * older epoch than it knows has come to a server that was left behind (an address that moved away and back).
 *
 * Positions stay below 2^53, where a Lua number is exact; they are written by %.0f, for ".." would round them
 * from 10^14 on.
 */
final class Script
{
    /** Bytes before the body in a record. */
    public const HEADER = 45;

    /**
     * Finds the epoch or begins a new one; what changed since a position; records.
     *
     * KEYS: head, sweep. ARGV: prefix, five digits for a new epoch, '1' on a new connection, the epoch and the end
     * with its nonce that this store has seen, the epoch and the position of which the changes are wanted, an end with
     * its nonce that was there then or '', keys of records...
     * Gives: epoch, end with its nonce, 1 if something is left to sweep, 1 if the list is complete, the list, the
     * server's milliseconds, records... unless they are large together, which is for MGET.
     */
    private const OPEN = <<<'LUA'
        local epoch, n, nonce, run, data
        local head = redis.call('GET', KEYS[1])
        if head then
          epoch, n, nonce, run, data = string.match(head, '^(%x+) (%d+)%-(%x+) %d+ (%w*)%.(%w*)$')
          n = tonumber(n)
        end
        local time = redis.call('TIME')
        local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
        local lost, unsure = not epoch, false

        -- When an epoch began, by its name; 0 for a name that would be more than a day ahead.
        local function begun(e)
          local high, low = string.match(e, '^(%x%x%x%x%x)(%x%x%x%x%x%x)%x%x%x%x%x$')
          local at = high and tonumber(high, 16) * 16777216 + tonumber(low, 16) or 0
          return at < now + 86400000 and at or 0
        end

        -- Sets lost, or unsure, unless the end that a process has seen in an epoch is still in the journal.
        local function compare(e, known)
          if e ~= epoch then
            if begun(e) > begun(epoch or '') then lost = true end
            return
          end
          local at, was = string.match(known, '^(%d+)%-(%x+)$')
          local p = tonumber(at or 0)
          if p == n then
            if was and was ~= nonce then lost = true end
          elseif p > n then
            lost = true
          elseif p > 0 then
            local e = redis.call('XRANGE', ARGV[1] .. ':' .. epoch .. ':j', at .. '-0', at .. '-0')[1]
            if not e then unsure = true elseif string.sub(e[2][4], 13) ~= was then lost = true end
          end
        end
        compare(ARGV[4], ARGV[5])
        compare(ARGV[6], ARGV[8])
        if epoch == ARGV[6] and tonumber(ARGV[7]) > n then lost = true end

        local function info(section)
          local text = redis.pcall('INFO', section)
          return type(text) == 'string' and text or ''
        end
        local function digits(text, name) return string.sub(string.match(text, name .. ':(%w+)') or '', 1, 20) end

        -- A replica that is made a primary gets another replication id, and remembers the former one. (A primary's id
        -- changes too, when its first replica connects, or an hour after the last one left: then it remembers none.)
        local replication = info('replication')
        local hereData = digits(replication, 'master_replid')
        if hereData ~= data and string.find(digits(replication, 'master_replid2'), '[^0]') then lost = true end
        if lost or unsure or ARGV[3] == '1' then
          local hereRun = digits(info('server'), 'run_id')
          if lost or (hereRun ~= '' and hereRun ~= run) then
            local start = math.max(now, begun(epoch or '') + 1, begun(ARGV[4]) + 1, begun(ARGV[6]) + 1)
            epoch = string.format('%05x%06x', math.floor(start / 16777216), start % 16777216) .. ARGV[2]
            n, nonce = 0, '0'
            redis.call('DEL', KEYS[1])
            redis.call('SET', KEYS[1], epoch .. ' 0-0 0 ' .. hereRun .. '.' .. hereData)
            redis.call('SET', KEYS[2], '0')
          end
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
        local reply = {epoch, string.format('%.0f-', n) .. nonce, redis.call('EXISTS', KEYS[2]), complete, list, now}
        local size = 0
        for i = 9, #ARGV do size = size + redis.call('STRLEN', base .. 'r:' .. ARGV[i]) end
        if size < 131072 then
          -- Beside them the markers of their tags, so that nobody need ask again: name and record in turn. Where tags lie in
          -- a body, Codec\Entry says; a signature (Codec\Signer) has 17 bytes.
          local beside, seen = {}, {}
          for i = 9, #ARGV do
            local r = redis.call('GET', base .. 'r:' .. ARGV[i])
            reply[i - 2] = r
            local at = r and string.find(string.sub(r, 46, 46), '[bs]') and 63 or 46
            if r and string.sub(r, at, at) == 'w' then
              local high, low = string.byte(r, at + 33, at + 34)
              at = at + 35
              for tag = 1, math.min(low and high * 256 + low or 0, 1000) do
                high, low = string.byte(r, at, at + 1)
                if not low then break end
                local name = string.sub(r, at + 2, at + 1 + high * 256 + low)
                at = at + 2 + #name
                if string.sub(name, 1, 2) == 't:' and not seen[name] and #beside < 4000 then
                  seen[name] = true
                  beside[#beside + 1] = name
                  beside[#beside + 1] = redis.call('GET', base .. 'r:' .. name)
                end
              end
            end
          end
          reply[#ARGV - 1] = beside
        end
        return reply
        LUA;

    /** Every 256 changes the index forgets those that are older than the last 10,000, and the journal those before them. */
    private const TRIM = <<<'LUA'

          if n % 256 == 0 and n > 10000 then
            local low, forgotten = n - 10000, string.sub(KEYS[3], 1, -2) .. 'f'
            local floor = tonumber(redis.call('ZSCORE', KEYS[3], '') or 0)
            local p, o, by = string.match(redis.call('GET', forgotten) or '', '^(%d+) (%d+) (%x+)$')
            local last, other = floor, tonumber(p) == floor and tonumber(o) or floor
            local list = redis.call('XRANGE', KEYS[2], string.format('%.0f', floor + 1), string.format('%.0f', low))
            for _, e in ipairs(list) do
              local w = string.sub(e[2][4], 1, 12)
              if w ~= by then other, by = last, w end
              last = last + 1
            end
            if last == low then
              redis.call('SET', forgotten, string.format('%.0f %.0f ', low, other) .. by)
            end
            redis.call('XTRIM', KEYS[2], 'MAXLEN', '~', '10400')
            redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', string.format('%.0f', low))
            redis.call('ZADD', KEYS[3], string.format('%.0f', low), '')
          end
        LUA;

    /**
     * One conditional write. Its 'i' is Change::HELD.
     *
     * KEYS: head, journal, index, the record, records of the guards... ARGV: epoch, key, writer, kind, limit or '' for
     * none, its end (see PUT), 's'trict or 'u'nlogged or '', where the body is ('' if there is none, '1' next,
     * '2' next is the name of a key that has it), the body or the name, the end with its nonce that this store has
     * seen, the nonce of this call, then key and limit of each guard...
     * Gives: 1, position, position and writer of the change before, kind of the record there was; or 0, position, writer and kind of the change
     * in conflict, the record, number of the guard in conflict; or 2 for another epoch; or 3 and an error.
     */
    private const WRITE = <<<'LUA'
        local epoch, n, nonce, v, run
        local head = redis.call('GET', KEYS[1])
        if head then epoch, n, nonce, v, run = string.match(head, '^(%x+) (%d+)%-(%x+) (%d+) (.*)$') end
        if epoch ~= ARGV[1] then return {2} end
        n, v = tonumber(n), tonumber(v)
        -- The end that this store has seen must still be in the journal. No check if this call made the last change.
        if nonce ~= ARGV[11] then
          local at, was = string.match(ARGV[10], '^(%d+)%-(%x+)$')
          local p = tonumber(at)
          if p == n then
            if was ~= nonce then return {2} end
          elseif p > n then
            return {2}
          elseif p > 0 then
            local e = redis.call('XRANGE', KEYS[2], at .. '-0', at .. '-0')[1]
            if not e or string.sub(e[2][4], 13) ~= was then return {2} end
          end
        end
        local key, writer, kind, mode, where = ARGV[2], ARGV[3], ARGV[4], ARGV[7], ARGV[8]

        local function id(position) return string.format('%.0f-0', position) end

        local function entry(position)
          local e = redis.call('XRANGE', KEYS[2], id(position), id(position))[1]
          if e then return string.sub(e[2][4], 1, 12), e[2][6], tonumber(e[2][8]) end
        end

        -- The last change of a key: position, writer ('' if unknown), kind, the last one before it by another writer.
        -- Position 0: none is known, and the fourth is the last position at which there may have been one. The fifth is
        -- the first byte of the record's body, if there is a record.
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

        -- The last position at which there may have been a forgotten change by another writer.
        local forgotten = string.sub(KEYS[3], 1, -2) .. 'f'
        local function others(before)
          local p, o, w = string.match(redis.call('GET', forgotten) or '', '^(%d+) (%d+) (%x+)$')
          return tonumber(p) == before and w == writer and tonumber(o) or before
        end

        -- The conflicting change, if there is one. The writer's own changes conflict only if `own` is true.
        local function inTheWay(own, limit, at, w, t, before)
          if at == 0 then
            if before > limit and (own or others(before) > limit) then return -1, '', '' end
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
          local g = 2 * i + 2
          local at, w, t, before, first = last(ARGV[g], KEYS[i])
          p, pw, pt = inTheWay(false, tonumber(ARGV[g + 1]), at, w, t, before)
          if p then return stop(i - 4) end
          -- A marker expires long after its last use.
          if (first == 'm' or first == 'c') and redis.call('PTTL', KEYS[i]) < 1296000000 then
            redis.call('PEXPIRE', KEYS[i], '2592000000')
          end
        end

        local function count()
          return redis.pcall('SET', KEYS[1], string.format('%s %.0f-%s %.0f %s', epoch, n, nonce, v, run))
        end
        local position
        if mode == 'u' then
          -- Not below the journal's end, so that a guard's limit means about the same for records of both sorts.
          v = math.max(v, n) + 1
          position = v
        else
          n = n + 1
          nonce = ARGV[11]
          position = n
        end

        local refused
        if where == '2' and redis.call('STRLEN', ARGV[9]) < 45 then
          -- The body's SET was refused, or the server evicted it at once: treat the record the same way.
          local done = redis.pcall('SET', KEYS[1], head)
          if type(done) == 'table' and done.err then
            refused = done.err
          elseif mode ~= '' then
            return {0, -1, '', '', redis.call('GET', KEYS[4]), 0}
          else
            where = ''
          end
        end
        if not refused then
          local done = count()
          if type(done) == 'table' and done.err then refused = done.err end
        end
        if refused then
          -- The server is full. Remove the old record too, unless it must stay for the next try (a counter, a lock). The
          -- server checks its memory at a script's first write only (script.c, scriptVerifyOOM), and never for DEL. So
          -- records that say which values must not be served (removals, markers, intents) are never refused, nor are
          -- leases, which are short and expire.
          local needed = where == '' or (where == '1' and (mode == 'u' or string.find(ARGV[9], '^[imc]')))
          if not string.find(refused, 'OOM', 1, true) or (mode ~= '' and not needed) then return {3, refused} end
          redis.call('DEL', KEYS[4])
          count()
          if needed then refused = nil else where, kind = '', 'x' end
        end
        local other = before
        if at > 0 then
          if w ~= writer then other = at end
        elseif other > 0 then
          other = others(other)
        end
        if mode ~= 'u' then
          local logged = redis.pcall('XADD', KEYS[2], id(n),
            'k', key, 'w', writer .. nonce, 't', kind, 'p', string.format('%.0f', other))
          if type(logged) == 'table' and logged.err then
            -- The journal was damaged: nothing of this epoch can be trusted.
            redis.call('DEL', KEYS[1])
            return {2}
          end
          if redis.call('EXISTS', KEYS[3]) == 0 then redis.call('ZADD', KEYS[3], string.format('%.0f', n - 1), '') end
          redis.call('ZADD', KEYS[3], string.format('%.0f', n), key)
        LUA . self::TRIM . <<<'LUA'

        end
        if where == '' then
          redis.call('DEL', KEYS[4])
        else
          local header = string.format('%016.0f%016.0f', position, other) .. writer .. kind
          if where == '2' then
            redis.call('SETRANGE', ARGV[9], 0, header)
            redis.call('RENAME', ARGV[9], KEYS[4])
            if ARGV[6] == '' then redis.call('PERSIST', KEYS[4]) end
          else
            redis.call('SET', KEYS[4], header .. ARGV[9])
          end
          if ARGV[6] ~= '' then
            if string.byte(ARGV[6]) == 43 then
              redis.call('PEXPIRE', KEYS[4], string.sub(ARGV[6], 2))
            else
              redis.call('PEXPIREAT', KEYS[4], ARGV[6])
            end
          end
        end
        if refused then return {3, refused} end
        return {1, position, at, w, (first or '') ~= '' and t or ''}
        LUA;

    /**
     * Changes that nothing is in the way of, in less time than WRITE takes to judge them. It stops before the first change that
     * it cannot make: for that one and those behind it the caller must use WRITE.
     *
     * KEYS: head, journal, index, then for each change the record and those of its guards. ARGV: how the head begins if nobody
     * has moved the end that this store has seen ("<epoch> <end>-<nonce> "), the writer and the nonce of this call, then for
     * each change: key, kind, limit or '' for none, number of guards, its end ('' none, '+' and the milliseconds to live, the
     * millisecond by the server's clock, or '-' for a removal; before it '@' if a key has the body), the body or that key's
     * name, and the limit of each guard.
     * Gives words: the journal's end, then for each change that was made position, writer and kind as WRITE does. '' for
     * another epoch.
     */
    private const PUT = <<<'LUA'
        local call, pcall, sub, byte, format = redis.call, redis.pcall, string.sub, string.byte, string.format
        local head, known = call('GET', KEYS[1]), ARGV[1]
        local n, rest
        if head and string.find(head, known, 1, true) == 1 then
          n, rest = tonumber(string.match(known, '^%d+', 18)), sub(head, #known)
        else
          local epoch, last, nonce
          if head then epoch, last, nonce, rest = string.match(head, '^(%x+) (%d+)%-(%x+)( .*)$') end
          local ours, at, was = string.match(known, '^(%x+) (%d+)%-(%x+)')
          n = tonumber(last)
          local p = tonumber(at)
          if epoch ~= ours or p >= n then return '' end
          if p > 0 then
            local e = call('XRANGE', KEYS[2], at .. '-0', at .. '-0')[1]
            if not e or sub(e[2][4], 13) ~= was then return '' end
          end
        end
        local signed = ARGV[2]
        local writer, first, told, k, a = sub(signed, 1, 12), n + 1, {''}, 4, 3
        local function note(position)
          return pcall('SET', KEYS[1], sub(known, 1, 17) .. position .. '-' .. sub(signed, 13) .. rest)
        end

        while KEYS[k] do
          local record, key, limit, guards, finish, body = KEYS[k], ARGV[a], tonumber(ARGV[a + 2]), tonumber(ARGV[a + 3]), ARGV[a + 4], ARGV[a + 5]
          local at, w, t, other, complete = '0', '', '', '0', nil
          local r = call('GETRANGE', record, 0, 45)
          if #r > 44 then
            -- An intent.
            if byte(r, 46) == 105 then break end
            at, w, t = sub(r, 1, 16), sub(r, 33, 44), sub(r, 45, 45)
            other = w == writer and sub(r, 17, 32) or at
          else
            local score = call('ZSCORE', KEYS[3], key)
            if score then
              at, other = score, score
              local e = call('XRANGE', KEYS[2], score .. '-0', score .. '-0')[1]
              if e then
                w = sub(e[2][4], 1, 12)
                if w == writer then other = e[2][8] end
              end
            else
              complete = call('ZSCORE', KEYS[3], '')
              if n > 0 then other = complete or format('%.0f', n) end
              if n >= 10000 and complete then
                local p, o, by = string.match(call('GET', sub(KEYS[3], 1, -2) .. 'f') or '', '^(%d+) (%d+) (%x+)$')
                if p == complete and by == writer then other = o end
              end
            end
          end
          if limit and (limit > n or tonumber(other) > limit) then break end
          local free = true
          for g = 1, guards do
            local m = call('GETRANGE', KEYS[k + g], 0, 45)
            if #m < 45 or tonumber(sub(m, 1, 16)) > tonumber(ARGV[a + 5 + g]) then
              free = false
              break
            end
            -- A marker expires long after its last use. One call in sixteen sees to that.
            if byte(signed, -1) == 48 and string.find(m, '^[mc]', 46) and call('PTTL', KEYS[k + g]) < 1296000000 then
              call('PEXPIRE', KEYS[k + g], '2592000000')
            end
          end
          local how = byte(finish)
          if not free or (how == 64 and call('STRLEN', body) < 45) then break end
          if how == 45 then
            -- A full server must not refuse removals, so DEL comes before any other write (see WRITE).
            local done = pcall('DEL', record)
            if type(done) == 'table' and done.err then break end
          end
          local position = format('%.0f', n + 1)
          if n < first and note(position).err then break end
          n = n + 1
          local kind = ARGV[a + 1]
          local logged = pcall('XADD', KEYS[2], position .. '-0', 'k', key, 'w', signed, 't', kind, 'p', other)
          if type(logged) == 'table' and logged.err then
            call('DEL', KEYS[1])
            return ''
          end
          if call('ZADD', KEYS[3], position, key) == 1 and not complete and call('ZCARD', KEYS[3]) == 1 then
            call('ZADD', KEYS[3], format('%.0f', n - 1), '')
          end
        LUA . self::TRIM . <<<'LUA'

          if how ~= 45 then
            local header = string.rep('0', 16 - #position) .. position .. string.rep('0', 16 - #other) .. other .. writer .. kind
            if how == 64 then
              call('SETRANGE', body, 0, header)
              call('RENAME', body, record)
              finish = sub(finish, 2)
              if finish == '' then
                call('PERSIST', record)
              elseif byte(finish) == 43 then
                call('PEXPIRE', record, sub(finish, 2))
              else
                call('PEXPIREAT', record, finish)
              end
            elseif how == 43 then
              call('SET', record, header .. body, 'PX', sub(finish, 2))
            else
              call('SET', record, header .. body)
              if how then call('PEXPIREAT', record, finish) end
            end
          end
          told[#told + 1] = at .. ' ' .. w .. ' ' .. t
          k, a = k + 1 + guards, a + 6 + guards
        end
        told[1] = format('%.0f', n)
        if n > first then note(told[1]) end
        return table.concat(told, ' ')
        LUA;

    /**
     * Removes the keys that former epochs left, one page of keys a call.
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
          -- Another cache's longer prefix may look like this prefix with an epoch; the rest of the name tells.
          if theirs ~= epoch and string.match(theirs, '^%x+$')
            and (string.match(rest, '^[fij]$') or string.match(rest, '^[rt]:')) then redis.call('UNLINK', key) end
        end
        redis.call('DEL', KEYS[2])
        if page[1] == '0' then return 0 end
        redis.call('SET', KEYS[2], page[1])
        return 1
        LUA;

    /**
     * Estimates records and bytes from a sample of a thousand keys.
     *
     * KEYS: none. ARGV: the prefix of each record's name.
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
