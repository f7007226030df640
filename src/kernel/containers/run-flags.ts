/** A flag of `docker run`. What is not listed here has no counterpart. */
export interface Flag {
  readonly value: boolean
  readonly means:
    | 'interactive'
    | 'env'
    | 'volume'
    | 'mount'
    | 'network'
    | 'memory'
    | 'pids'
    | 'cwd'
    | 'user'
    | 'entrypoint'
    | 'tmpfs'
    | 'no_rights'
    | 'no_log'
    | 'pull'
    /** Every container of Toolroom has it, or it changes nothing for the server. */
    | 'ignored'
    | 'unsupported'
}

type Means = Flag['means']

const table = (value: boolean, means: Means, names: string): [string, Flag][] =>
  names.split(' ').map((name) => [name, { value, means }])

/** With the flags of Docker 28 and Podman 5 that take no value: for all others the next word is the value. */
export const FLAGS: Readonly<Partial<Record<string, Flag>>> = Object.assign(
  Object.create(null), // `--constructor` is no flag
  Object.fromEntries([
    ...table(false, 'interactive', '-i --interactive'),
    ...table(false, 'ignored', '--rm --init --read-only -q --quiet --sig-proxy --disable-content-trust'),
    ...table(false, 'unsupported', '-t --tty -d --detach --privileged -P --publish-all --no-healthcheck'),
    ...table(
      false,
      'unsupported',
      '--oom-kill-disable --use-api-socket --env-host --http-proxy --replace --no-hosts',
    ),
    ...table(true, 'env', '-e --env'),
    ...table(true, 'volume', '-v --volume'),
    ...table(true, 'mount', '--mount'),
    ...table(true, 'network', '--network --net'),
    ...table(true, 'memory', '-m --memory'),
    ...table(true, 'pids', '--pids-limit'),
    ...table(true, 'cwd', '-w --workdir'),
    ...table(true, 'user', '-u --user'),
    ...table(true, 'entrypoint', '--entrypoint'),
    ...table(true, 'tmpfs', '--tmpfs'),
    ...table(true, 'no_rights', '--security-opt'),
    ...table(true, 'no_log', '--log-driver'),
    ...table(true, 'pull', '--pull'),
    ...table(
      true,
      'ignored',
      '--name -h --hostname -l --label --label-file --cap-drop -a --attach --stop-timeout',
    ),
    ...table(
      true,
      'unsupported',
      '--env-file -p --publish --expose --cap-add --device --gpus --add-host --dns',
    ),
    ...table(
      true,
      'unsupported',
      '--dns-option --dns-search --ip --ip6 --mac-address --network-alias --link',
    ),
    ...table(
      true,
      'unsupported',
      '--ipc --pid --uts --userns --cgroupns --cgroup-parent --group-add --isolation',
    ),
    ...table(
      true,
      'unsupported',
      '--platform --runtime --restart --ulimit --sysctl --shm-size --storage-opt',
    ),
    ...table(
      true,
      'unsupported',
      '--volumes-from --volume-driver --log-opt --cidfile --detach-keys --annotation',
    ),
    ...table(
      true,
      'unsupported',
      '--cpus --cpu-shares -c --cpu-period --cpu-quota --cpuset-cpus --cpuset-mems',
    ),
    ...table(true, 'unsupported', '--memory-swap --memory-reservation --memory-swappiness --oom-score-adj'),
    ...table(
      true,
      'unsupported',
      '--health-cmd --health-interval --health-retries --health-timeout --stop-signal',
    ),
  ]),
)
