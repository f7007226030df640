import { AppError } from '../../kernel/errors.ts'
import type { Network } from '../../net/connection-pool.ts'
import { isLoopbackHost } from '../../net/proxy.ts'
import { npmNetwork } from './npm-network.ts'
import { isObject, own } from './packument.ts'

/** Which registry has a package, and what may be said to it. */
export interface NpmSettings {
  readonly registry: string
  registryFor(name: string): string
  /** The value of the Authorization header, for a URL below exactly the place that the login was saved for. */
  authorizationFor(url: string): string | undefined
  readonly network: Pick<Network, 'ca' | 'proxyFor'>
}

type Env = Readonly<Record<string, string | undefined>>

/**
 * From what `npm config list --json` prints, which holds no logins, and the texts of the user's .npmrc files, which do.
 * Of several texts the later wins.
 */
export function npmSettings(
  configJson: string,
  npmrcTexts: readonly string[],
  env: Env,
  cafile = '',
): NpmSettings {
  const files = new Map(npmrcTexts.flatMap((text) => entriesOf(text, env)))
  const config = configOf(configJson)
  const setting = (key: string) => {
    const value = own(config, key) ?? files.get(key)
    return typeof value === 'string' && value !== '' ? value : undefined
  }
  const logins = new Map([...loginsIn(files), ...loginsIn(fromEnvironment(env))])
  const registryOf = (key: string) => {
    const value = setting(key)
    return value === undefined ? undefined : withoutUser(value, key)
  }
  for (const key of [...files.keys(), ...Object.keys(config)].filter(isRegistryKey)) {
    const login = loginInUrl(setting(key))
    if (login && !logins.has(login[0])) logins.set(...login)
  }
  const settings: NpmSettings = {
    network: npmNetwork((key) => own(config, key) ?? files.get(key), cafile, env),
    get registry() {
      const registry = registryOf('registry')
      if (registry === undefined)
        throw new AppError('registry_unreachable', 'npm does not say which registry it uses', {
          hint: 'Look at: npm config get registry',
        })
      return registry
    },
    registryFor(name) {
      const scope = /^(@[^/]+)\//.exec(name)?.[1]
      return (scope === undefined ? undefined : registryOf(`${scope}:registry`)) ?? settings.registry
    },
    authorizationFor(url) {
      const asked = parsed(url)
      if (!asked || !isPrivate(asked)) return undefined
      const place = `//${asked.host}${asked.pathname}`
      const [best] = [...logins.keys()]
        .filter((key) => place.startsWith(key))
        .sort((a, b) => b.length - a.length)
      return best === undefined ? undefined : logins.get(best)
    },
  }
  return settings
}

const isRegistryKey = (key: string) => key === 'registry' || /^@[^/:]+:registry$/.test(key)

function configOf(json: string): Readonly<Record<string, unknown>> {
  try {
    const config: unknown = JSON.parse(json)
    return isObject(config) ? config : {}
  } catch {
    return {} // npm said something else; the files still speak
  }
}

/** Never the public registry instead of one that cannot be read: somebody else may own the name there. */
function withoutUser(value: string, key: string): string {
  const url = parsed(value)
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new AppError('registry_unreachable', `npm's setting '${key}' is not a web address`, {
      hint: `Correct it with: npm config set ${key} https://…`,
    })
  }
  return `${url.origin}${url.pathname.replace(/\/*$/, '/')}`
}

/** Lines of `key = value`. A variable that is not set leaves the line without effect, as there is nothing to send. */
function entriesOf(text: string, env: Env): [string, string][] {
  return text.split(/\r?\n/).flatMap((line): [string, string][] => {
    const found = /^\s*([^;#=[\s][^=]*?)\s*=\s*(.*?)\s*$/.exec(line)
    if (!found) return []
    const [, key = '', value = ''] = found
    const filled = filledIn(/^(["'])(.*)\1$/.exec(value)?.[2] ?? value, env)
    return filled === undefined ? [] : [[filledIn(key, env) ?? key, filled]]
  })
}

function filledIn(value: string, env: Env): string | undefined {
  let missing = false
  const filled = value.replace(/\$\{([^${}]{1,256}?)(\?)?\}/g, (_, name: string, optional?: string) => {
    const found = Object.hasOwn(env, name) ? env[name] : undefined
    missing ||= found === undefined && optional === undefined
    return found ?? ''
  })
  return missing ? undefined : filled
}

/** npm takes `npm_config_//host/:_authToken` too, as build machines set it. */
function fromEnvironment(env: Env): Map<string, string> {
  const entries = Object.entries(env).flatMap(([name, value]): [string, string][] =>
    /^npm_config_\/\//i.test(name) && value ? [[name.slice('npm_config_'.length), value]] : [],
  )
  return new Map(entries)
}

/** Keys are `//host/path/`, values are ready for the header. */
function loginsIn(entries: ReadonlyMap<string, string>): Map<string, string> {
  const logins = new Map<string, string>()
  for (const key of entries.keys()) {
    const place = /^(\/\/[^/]+(?:\/.*)?):(?:_authToken|_auth|_password)$/.exec(key)?.[1]
    if (place === undefined) continue
    const header = headerOf((name) => entries.get(`${place}:${name}`))
    if (header !== undefined) logins.set(place.replace(/\/*$/, '/'), header)
  }
  return logins
}

function headerOf(field: (name: string) => string | undefined): string | undefined {
  const [token, user, password, both] = ['_authToken', 'username', '_password', '_auth'].map(field)
  if (token) return sendable(`Bearer ${token}`)
  if (user && password) return basic(user, Buffer.from(password, 'base64').toString())
  return both ? sendable(`Basic ${both}`) : undefined
}

function loginInUrl(value: string | undefined): [string, string] | undefined {
  const url = value === undefined ? undefined : parsed(value)
  if (!url || url.username === '') return undefined
  try {
    const header = basic(decodeURIComponent(url.username), decodeURIComponent(url.password))
    return [`//${url.host}${url.pathname.replace(/\/*$/, '/')}`, header]
  } catch {
    return undefined // not percent-encoded as it should be, so nobody knows what was meant
  }
}

const basic = (user: string, password: string) =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`

/** A line break in a token would begin a header of its own. */
const sendable = (header: string) => (/^[\x20-\x7e]+$/.test(header) ? header : undefined)

/** Plain http can be read by every hop, unless it never leaves this computer. */
function isPrivate({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || isLoopbackHost(hostname)
}

function parsed(url: string): URL | undefined {
  return URL.canParse(url) ? new URL(url) : undefined
}
