<?php

declare(strict_types=1);

namespace Larder\Console\Doctor;

/** The file system that holds a path, from /proc/self/mountinfo (proc_pid_mountinfo(5)). */
final readonly class Mount
{
    private const NETWORK = '/^(nfs\d?|cifs|smb\d?|smbfs|ncpfs|afs|ceph|lustre|glusterfs|gpfs|9p|beegfs|ocfs2|gfs2'
        . '|fuse\.(sshfs|glusterfs.*|s3fs|s3.*|rclone|cephfs.*|ceph.*|gcsfuse|davfs.*|juicefs|moosefs|mfs.*)|davfs\d?|vboxsf|prl_fs|vmhgfs|fuse\.vmhgfs.*)$/';

    private function __construct(public string $point, public string $type) {}

    /**
     * @param ?string $table the text of mountinfo; null reads this process's own
     *
     * @return ?self null: unknown
     */
    public static function of(string $path, ?string $table = null): ?self
    {
        $file = '/proc/self/mountinfo';
        $table ??= \is_readable($file) ? (string) \file_get_contents($file) : '';
        $best = null;
        foreach (\explode("\n", $table) as $line) {
            $halves = \explode(' - ', $line, 2);
            $fields = \explode(' ', $halves[0]);
            if (!isset($halves[1], $fields[4])) {
                continue;
            }
            // mountinfo writes space, tab, line feed and backslash in octal.
            $point = \preg_replace_callback('/\\\\([0-7]{3})/', static fn(array $match): string => \chr((int) \octdec($match[1])), $fields[4]) ?? '';
            // A later mount hides an earlier one at the same point.
            if (\str_starts_with($path . '/', \rtrim($point, '/') . '/') && ($best === null || \strlen($point) >= \strlen($best->point))) {
                $best = new self($point, \explode(' ', $halves[1])[0]);
            }
        }

        return $best;
    }

    public function isNetwork(): bool
    {
        return \preg_match(self::NETWORK, $this->type) === 1;
    }

    public function isMemory(): bool
    {
        return $this->type === 'tmpfs' || $this->type === 'ramfs';
    }
}
