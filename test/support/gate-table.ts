/**
 * The accepted and refused hosts, origins and sites as a table. It is written by hand and shares no code with the gate,
 * because lists derived from each other would share their mistakes.
 */
export interface GateRequest {
  readonly host: string
  readonly origin: string | null
  readonly site: string | null
}

/** The expected decision of the gate: `in`, or the code of its refusal. */
export type Verdict = 'in' | 'host_not_allowed' | 'origin_not_allowed' | 'cross_site'

type Row<T> = readonly [value: T, allowed: boolean]

/** For a connection to 127.0.0.1 and the service's port. */
export function gateTable(port: number) {
  const hosts: readonly Row<string>[] = [
    [`127.0.0.1:${port}`, true],
    [`localhost:${port}`, true],
    [`[::1]:${port}`, true],
    [`LOCALHOST:${port}`, true],
    [`LocalHost:${port}`, true],
    ['127.0.0.1', false],
    ['localhost', false],
    ['[::1]', false],
    ['localhost:', false],
    ['127.0.0.1:80', false],
    [`127.0.0.1:${port - 1}`, false],
    [`localhost:0${port}`, false],
    [`localhost.:${port}`, false],
    [`0.0.0.0:${port}`, false],
    [`[::]:${port}`, false],
    [`127.0.0.2:${port}`, false],
    [`127.1:${port}`, false],
    [`2130706433:${port}`, false],
    [`0x7f.0.0.1:${port}`, false],
    [`[::ffff:127.0.0.1]:${port}`, false],
    [`169.254.169.254:${port}`, false],
    ['evil.com', false],
    [`evil.com:${port}`, false],
    [`localhost.evil.com:${port}`, false],
    [`127.0.0.1.nip.io:${port}`, false],
    [`localhost:${port}.evil.com`, false],
    [`evil.com@localhost:${port}`, false],
    [`localhost:${port}@evil.com`, false],
    [`localhost:${port}, evil.com`, false],
    [`l\u043ecalhost:${port}`, false], // the first o is Cyrillic
  ]
  const origins: readonly Row<string | null>[] = [
    [null, true],
    [`http://127.0.0.1:${port}`, true],
    [`http://localhost:${port}`, true],
    [`http://[::1]:${port}`, true],
    ['null', false],
    ['https://evil.com', false],
    [`http://evil.com:${port}`, false],
    ['http://localhost:3000', false],
    ['http://localhost', false],
    [`http://localhost.evil.com:${port}`, false],
    [`http://localhost:${port}.evil.com`, false],
    [`chrome-extension://localhost:${port}`, false],
  ]
  const sites: readonly Row<string | null>[] = [
    [null, true],
    ['same-origin', true],
    ['none', true],
    ['same-site', false],
    ['cross-site', false],
  ]
  return { hosts, origins, sites }
}

type Table = ReturnType<typeof gateTable>

/** Every host with every origin and every site. */
export function everyRequest({ hosts, origins, sites }: Table): [GateRequest, Verdict][] {
  return hosts.flatMap((host) => origins.flatMap((origin) => sites.map((site) => judged(host, origin, site))))
}

/** `alone`: each value with otherwise valid ones. `pairs`: each pair of a host and an origin, with every site in turn. */
export function pairwiseRequests({
  hosts,
  origins,
  sites,
}: Table): Record<'alone' | 'pairs', [GateRequest, Verdict][]> {
  const [host, origin, site] = [first(hosts), first(origins), first(sites)]
  const alone = [
    ...hosts.map((each) => judged(each, origin, site)),
    ...origins.map((each) => judged(host, each, site)),
    ...sites.map((each) => judged(host, origin, each)),
  ]
  const pairs = hosts.flatMap((each, row) =>
    origins.map((other, column) => judged(each, other, sites[(row + column) % sites.length] ?? site)),
  )
  return { alone, pairs }
}

/** Host is checked first, then Origin, then Sec-Fetch-Site. */
function judged(
  host: Row<string>,
  origin: Row<string | null>,
  site: Row<string | null>,
): [GateRequest, Verdict] {
  const request = { host: host[0], origin: origin[0], site: site[0] }
  if (!host[1]) return [request, 'host_not_allowed']
  if (!origin[1]) return [request, 'origin_not_allowed']
  return [request, site[1] ? 'in' : 'cross_site']
}

function first<T>(rows: readonly Row<T>[]): Row<T> {
  const [row] = rows
  if (!row) throw new Error('the table is empty')
  return row
}

export function gateHeaders({ host, origin, site }: GateRequest): [name: string, value: string][] {
  return [
    ['Host', host],
    ...(origin === null ? [] : [['Origin', origin] as [string, string]]),
    ...(site === null ? [] : [['Sec-Fetch-Site', site] as [string, string]]),
  ]
}
