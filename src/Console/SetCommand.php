<?php

declare(strict_types=1);

namespace Larder\Console;

use Larder\Cache;
use Larder\Console\Support\Place;
use Larder\Console\Support\Text;
use Symfony\Component\Console\Attribute\AsCommand;
use Symfony\Component\Console\Exception\InvalidArgumentException;
use Symfony\Component\Console\Input\InputArgument;
use Symfony\Component\Console\Input\InputInterface;
use Symfony\Component\Console\Input\InputOption;
use Symfony\Component\Console\Output\OutputInterface;

#[AsCommand('set', 'Store a value')]
final class SetCommand extends CacheCommand
{
    protected const MAKES = true;

    private const TYPES = ['string', 'int', 'float', 'bool', 'null', 'json'];

    protected function configure(): void
    {
        parent::configure();
        $this
            ->addArgument('key', InputArgument::REQUIRED, 'The key')
            ->addArgument('value', InputArgument::OPTIONAL, 'The value; without it, or with "-", the command reads standard input')
            ->addOption('type', 't', InputOption::VALUE_REQUIRED, 'The value\'s type: ' . \implode(', ', self::TYPES), 'string')
            ->addOption('ttl', null, InputOption::VALUE_REQUIRED, 'Seconds to live; 0 means no expiry', '0')
            ->addOption('tag', null, InputOption::VALUE_REQUIRED | InputOption::VALUE_IS_ARRAY, 'A tag; may be repeated')
            ->setHelp(<<<'HELP'
                Stores a value in every tier before it returns. The next request sees it.

                  <info>%command.full_name% greeting "Good morning" --ttl=3600</info>
                  <info>%command.full_name% settings '{"colour": "red"}' --type=json --tag=theme</info>
                  <info>%command.full_name% logo < logo.png</info>
                HELP);
    }

    protected function work(Cache $cache, Place $place, InputInterface $input, OutputInterface $output): int
    {
        $key = self::argument($input, 'key');
        $ttl = self::text($input, 'ttl') ?? '0';
        if (\preg_match('/^\d{1,18}$/D', $ttl) !== 1) {
            throw new InvalidArgumentException('The ttl "' . $ttl . '" must be a whole number of seconds, 0 for no expiry. Write for example --ttl=3600.');
        }
        $done = $cache->set($key, self::value($input), (int) $ttl, self::words($input->getOption('tag')));

        return self::say($input, $output, ['key' => Text::key($key)], $done, 'stored');
    }

    private static function value(InputInterface $input): mixed
    {
        $type = self::text($input, 'type') ?? '';
        if (!\in_array($type, self::TYPES, true)) {
            throw new InvalidArgumentException('Unknown type "' . $type . '". Choose one of: ' . \implode(', ', self::TYPES) . '.');
        }
        if ($type === 'null') {
            return null;
        }
        $text = $input->getArgument('value');
        if (!\is_string($text) || $text === '-') {
            $text = (string) \stream_get_contents(\STDIN);
        }
        if ($type === 'string') {
            return $text;
        }
        $text = \trim($text);
        $value = match ($type) {
            'int' => \filter_var($text, \FILTER_VALIDATE_INT, \FILTER_NULL_ON_FAILURE),
            'float' => \filter_var($text, \FILTER_VALIDATE_FLOAT, \FILTER_NULL_ON_FAILURE),
            'bool' => \filter_var($text, \FILTER_VALIDATE_BOOL, \FILTER_NULL_ON_FAILURE),
            default => \json_decode($text, true),
        };
        if ($value === null && !($type === 'json' && \json_last_error() === \JSON_ERROR_NONE)) {
            throw new InvalidArgumentException('The value is not of the type ' . $type . ($type === 'json' ? ': ' . \json_last_error_msg() : '') . '.');
        }

        return $value;
    }
}
