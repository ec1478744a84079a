<?php

declare(strict_types=1);

/*
 * A single endpoint before a Redis, as providers and proxies run them. See StrictEndpoint, which starts it.
 *
 *     php strict-endpoint.php PORT DIRECTORY
 *
 * DIRECTORY/target has the port of the server behind it, and DIRECTORY/forgets one in how many calls of a known script is
 * answered by NOSCRIPT (0: none). DIRECTORY/refused takes what was refused. Each client has a process, and in it two connections
 * to the server: one for commands, one for scripts, as a user who may touch no other keys than those that the call has declared.
 */

const REFUSED_TO_SCRIPTS = ['-info', '-scan', '-memory', '-config', '-keys', '-dbsize', '-randomkey', '-select', '-script', '-client', '-acl', '-cluster', '-wait'];
const ONE_KEY_AN_ARGUMENT = ['MGET', 'DEL', 'UNLINK', 'EXISTS', 'TOUCH'];
const MOST_KEYS = 1_000;
const MOST_ARGUMENTS = 3_999;

[, $port, $directory] = $argv;
// Else the second part of what is sent in two waits for the other side's acknowledgement.
\stream_context_set_default(['socket' => ['tcp_nodelay' => true]]);
$listener = \stream_socket_server("tcp://127.0.0.1:$port", context: \stream_context_get_default()) ?: exit(1);
\pcntl_signal(\SIGCHLD, \SIG_IGN);
echo "ready\n";
while (true) {
    $client = @\stream_socket_accept($listener, 3600.0);
    if ($client !== false && \pcntl_fork() === 0) {
        \fclose($listener);
        serve($client, (int) $port, $directory);
        exit(0);
    }
}

/** @param resource $client */
function serve($client, int $port, string $directory): void
{
    $target = '';
    $plain = $script = null;
    $user = 'script' . \getmypid();
    while (($command = request($client)) !== null) {
        $now = (string) \file_get_contents("$directory/target");
        if ($now !== $target || $plain === null || $script === null) {
            // The client's connection stays, whatever becomes of the server behind it.
            $target = $now;
            $plain = @\stream_socket_client("tcp://127.0.0.1:$target", $_, $_, 1.0, context: \stream_context_get_default()) ?: null;
            $script = @\stream_socket_client("tcp://127.0.0.1:$target", $_, $_, 1.0, context: \stream_context_get_default()) ?: null;
            if ($plain === null || $script === null) {
                return;
            }
            ask($plain, ['ACL', 'SETUSER', $user, 'on', '>x', '+@all', ...REFUSED_TO_SCRIPTS]);
            ask($script, ['AUTH', $user, 'x']);
        }
        $reply = answer($command, $port, $directory, $user, $plain, $script);
        if ($reply === null) {
            // The server has gone away.
            return;
        }
        if ($reply[0] === '-' && \preg_match('/^-(?:NOSCRIPT|ERR increment or decrement would overflow)/', $reply) !== 1) {
            \file_put_contents("$directory/refused", \addcslashes(\substr($reply, 0, 200) . \implode(' ', $command), "\0..\37") . "\n", \FILE_APPEND);
        }
        \fwrite($client, $reply);
    }
}

/**
 * @param non-empty-list<string> $command
 * @param resource               $plain
 * @param resource               $script
 */
function answer(array $command, int $port, string $directory, string $user, $plain, $script): ?string
{
    $name = \strtoupper($command[0]);
    $second = \strtoupper($command[1] ?? '');
    if (\count($command) > MOST_ARGUMENTS) {
        return "-ERR too many arguments\r\n";
    }
    if (\in_array($name, ONE_KEY_AN_ARGUMENT, true) && \count($command) - 1 > MOST_KEYS) {
        return "-ERR too many keys\r\n";
    }
    if ($name === 'RESET') {
        return "+RESET\r\n";
    }
    if ($name === 'CLUSTER' && ($second === 'SLOTS' || $second === 'SHARDS')) {
        $node = "*3\r\n\$9\r\n127.0.0.1\r\n:$port\r\n\$40\r\n" . \str_repeat('0', 40) . "\r\n";

        return $second === 'SLOTS' ? "*1\r\n*3\r\n:0\r\n:16383\r\n$node" : "*1\r\n*4\r\n\$5\r\nslots\r\n*2\r\n:0\r\n:16383\r\n\$5\r\nnodes\r\n*0\r\n";
    }
    if (\in_array($name, ['SELECT', 'CONFIG', 'MEMORY', 'KEYS', 'ACL', 'MONITOR', 'REPLICAOF', 'ROLE', 'DEBUG', 'FUNCTION', 'FCALL', 'SWAPDB', 'MOVE'], true) || ($name === 'CLUSTER' && $second !== 'KEYSLOT')) {
        return "-ERR unknown command '$name'\r\n";
    }
    if ($name === 'INFO') {
        return hide(ask($plain, $command));
    }
    if ($name !== 'EVAL' && $name !== 'EVALSHA') {
        return ask($plain, $command);
    }
    $count = (int) ($command[2] ?? 0);
    if ($count < 1 || $count > MOST_KEYS) {
        return $count < 1 ? "-ERR Lua scripts without any input keys are not supported\r\n" : "-ERR too many keys\r\n";
    }
    if ($name === 'EVAL') {
        $name = \sha1($command[1]);
        $command[1] = "#!lua\n" . $command[1];
        \file_put_contents("$directory/$name", \sha1($command[1]));
    } else {
        $known = "$directory/" . \basename($command[1]);
        $forgets = (int) \file_get_contents("$directory/forgets");
        if (!\is_file($known) || ($forgets > 0 && \random_int(1, $forgets) === 1)) {
            return "-NOSCRIPT No matching script. Please use EVAL.\r\n";
        }
        $command[1] = (string) \file_get_contents($known);
    }
    // A pattern has no spaces and no NUL; a question mark stands for any byte.
    $patterns = \array_map(
        static fn(string $key): string => '~' . \preg_replace('/[\s\0\x0b]/', '?', \addcslashes($key, '\\*?[]')),
        \array_slice($command, 3, $count),
    );
    $rights = ask($plain, ['ACL', 'SETUSER', $user, 'resetkeys', ...$patterns]);

    return $rights === "+OK\r\n" ? ask($script, $command) : $rights;
}

/** What INFO says without what tells the nodes apart. */
function hide(?string $reply): ?string
{
    if ($reply === null || $reply[0] !== '$') {
        return $reply;
    }
    $text = \substr($reply, \strpos($reply, "\n") + 1, -2);
    $text = (string) \preg_replace('/^(?:run_id|role|master_\w+|connected_slaves|slave\d+|second_repl_offset|repl_\w+|tcp_port|process_id|os|executable|config_file|min_slaves\w+):[^\n]*\n/m', '', $text);

    return '$' . \strlen($text) . "\r\n$text\r\n";
}

/**
 * @param resource               $server
 * @param non-empty-list<string> $command
 */
function ask($server, array $command): ?string
{
    $bytes = '*' . \count($command) . "\r\n";
    foreach ($command as $argument) {
        $bytes .= '$' . \strlen($argument) . "\r\n$argument\r\n";
    }
    for ($at = 0; $at < \strlen($bytes); $at += $written) {
        $written = @\fwrite($server, \substr($bytes, $at));
        if ($written === false || $written === 0) {
            return null;
        }
    }

    return reply($server);
}

/**
 * One reply, whole, as it came.
 *
 * @param resource $server
 */
function reply($server): ?string
{
    $line = @\fgets($server);
    if ($line === false) {
        return null;
    }
    $length = (int) \substr($line, 1);
    if ($line[0] === '$' && $length >= 0) {
        return $line . bytes($server, $length + 2);
    }
    for ($i = 0; $line[0] === '*' && $i < $length; $i++) {
        $parts[] = reply($server);
    }

    return $line . \implode('', $parts ?? []);
}

/**
 * @param resource $client
 *
 * @return ?non-empty-list<string> null: it has gone away
 */
function request($client): ?array
{
    $line = \fgets($client);
    if ($line === false || $line[0] !== '*') {
        return null;
    }
    $command = [];
    for ($i = (int) \substr($line, 1); $i > 0; $i--) {
        $command[] = \substr(bytes($client, (int) \substr((string) \fgets($client), 1) + 2), 0, -2);
    }

    return $command === [] ? null : $command;
}

/** @param resource $stream */
function bytes($stream, int $length): string
{
    $bytes = '';
    while (\strlen($bytes) < $length) {
        $more = \fread($stream, $length - \strlen($bytes));
        if ($more === false || $more === '') {
            exit(0);
        }
        $bytes .= $more;
    }

    return $bytes;
}
