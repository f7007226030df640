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

/** The flags of Docker 28 and Podman 5. */
const SWITCHES: readonly (readonly [Flag['means'], string])[] = [
  ['interactive', '-i --interactive'],
  ['ignored', '--rm --init --read-only -q --quiet --sig-proxy --disable-content-trust'],
  ['unsupported', '-t --tty -d --detach --privileged -P --publish-all --no-healthcheck --oom-kill-disable'],
  ['unsupported', '--use-api-socket --env-host --http-proxy --replace --no-hosts'],
]
const WITH_VALUE: typeof SWITCHES = [
  ['env', '-e --env'],
  ['volume', '-v --volume'],
  ['mount', '--mount'],
  ['network', '--network --net'],
  ['memory', '-m --memory'],
  ['pids', '--pids-limit'],
  ['cwd', '-w --workdir'],
  ['user', '-u --user'],
  ['entrypoint', '--entrypoint'],
  ['tmpfs', '--tmpfs'],
  ['no_rights', '--security-opt'],
  ['no_log', '--log-driver'],
  ['pull', '--pull'],
  ['ignored', '--name -h --hostname -l --label --label-file --cap-drop -a --attach --stop-timeout'],
  ['unsupported', '--env-file -p --publish --expose --cap-add --device --gpus --add-host --dns --dns-option'],
  ['unsupported', '--dns-search --ip --ip6 --mac-address --network-alias --link --ipc --pid --uts --userns'],
  [
    'unsupported',
    '--cgroupns --cgroup-parent --group-add --isolation --platform --runtime --restart --ulimit',
  ],
  ['unsupported', '--sysctl --shm-size --storage-opt --volumes-from --volume-driver --log-opt --cidfile'],
  ['unsupported', '--detach-keys --annotation --cpus --cpu-shares -c --cpu-period --cpu-quota --cpuset-cpus'],
  ['unsupported', '--cpuset-mems --memory-swap --memory-reservation --memory-swappiness --oom-score-adj'],
  ['unsupported', '--health-cmd --health-interval --health-retries --health-timeout --stop-signal'],
]

/** All flags by name. After one with `value`, the next word is its value. */
export const FLAGS: Readonly<Partial<Record<string, Flag>>> = Object.assign(
  Object.create(null), // `--constructor` is no flag
  Object.fromEntries([...flagsOf(SWITCHES, false), ...flagsOf(WITH_VALUE, true)]),
)

function flagsOf(table: typeof SWITCHES, value: boolean): [string, Flag][] {
  return table.flatMap(([means, names]) =>
    names.split(' ').map((name): [string, Flag] => [name, { value, means }]),
  )
}
