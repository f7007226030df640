import { AppError } from '../../../kernel/errors.ts'
import type { Network } from '../../../net/connection-pool.ts'
import { environmentSettings, isLoopbackHost, proxyFrom, type Setting } from '../../../net/proxy.ts'
import { objectOf, own, type Raw } from '../foreign-json.ts'

/** The registries, logins and network settings of npm. */
export interface NpmSettings {
  readonly registry: string
  registryFor(name: string): string
  /** The Authorization header for a URL. A login is used only below the host and path that it was saved for. */
  authorizationFor(url: string): string | undefined
  readonly network: Pick<Network, 'ca' | 'proxyFor'>
  /** npm takes only versions that were published before a date. */
  readonly hasDateLimit: boolean
}

type Env = Readonly<Record<string, string | undefined>>

/**
 * Reads the output of `npm config list --json`, which contains no logins, and the user's .npmrc files, which do. A later
 * file overrides an earlier one.
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
    hasDateLimit: ['before', 'min-release-age'].some((key) => (own(config, key) ?? null) !== null),
    get registry() {
      const registry = registryOf('registry')
      if (registry === undefined)
        throw new AppError('registry_unreachable', 'npm has no registry setting', {
          hint: 'Check: npm config get registry',
        })
      return registry
    },
    registryFor(name) {
      const scope = /^(@[^/]+)\//.exec(name)?.[1]
      return (scope === undefined ? undefined : registryOf(`${scope}:registry`)) ?? settings.registry
    },
    authorizationFor(url) {
      const target = parsed(url)
      if (!target || !isPrivate(target)) return undefined
      const place = `//${target.host}${target.pathname}`
      const [best] = [...logins.keys()]
        .filter((key) => place.startsWith(key))
        .sort((a, b) => b.length - a.length)
      return best === undefined ? undefined : logins.get(best)
    },
  }
  return settings
}

const isRegistryKey = (key: string) => key === 'registry' || /^@[^/:]+:registry$/.test(key)

function configOf(json: string): Raw {
  try {
    return objectOf(JSON.parse(json))
  } catch {
    return {} // the .npmrc files are still used
  }
}

/** Throws instead of falling back to the public registry, where the same name may belong to another owner. */
function withoutUser(value: string, key: string): string {
  const url = parsed(value)
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new AppError('registry_unreachable', `npm's setting '${key}' is not an http or https URL`, {
      hint: `Correct it with: npm config set ${key} https://…`,
    })
  }
  return `${url.origin}${url.pathname.replace(/\/*$/, '/')}`
}

/** Lines of `key = value`. A line with an unset variable is ignored. */
function entriesOf(text: string, env: Env): [string, string][] {
  return text.split(/\r?\n/).flatMap((line): [string, string][] => {
    const equals = line.indexOf('=')
    const key = line.slice(0, Math.max(0, equals)).trim()
    if (key === '' || /^[;#[]/.test(key)) return []
    const value = line.slice(equals + 1).trim()
    const filled = substituted(/^(["'])(.*)\1$/.exec(value)?.[2] ?? value, env)
    return filled === undefined ? [] : [[substituted(key, env) ?? key, filled]]
  })
}

function substituted(value: string, env: Env): string | undefined {
  let missing = false
  const filled = value.replace(/\$\{([^${}]{1,256}?)(\?)?\}/g, (_, name: string, optional?: string) => {
    const found = Object.hasOwn(env, name) ? env[name] : undefined
    missing ||= found === undefined && optional === undefined
    return found ?? ''
  })
  return missing ? undefined : filled
}

/** Logins from variables such as `npm_config_//host/:_authToken`, as CI sets them. */
function fromEnvironment(env: Env): Map<string, string> {
  const entries = Object.entries(env).flatMap(([name, value]): [string, string][] =>
    /^npm_config_\/\//i.test(name) && value ? [[name.slice('npm_config_'.length), value]] : [],
  )
  return new Map(entries)
}

/** Keys are `//host/path/`, values are Authorization headers. */
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
    return undefined // not valid percent-encoding
  }
}

const basic = (user: string, password: string) =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`

/** Undefined for a token with control characters: a line break would start another header. */
const sendable = (header: string) => (/^[\x20-\x7e]+$/.test(header) ? header : undefined)

/** Plain http can be read by every hop, unless it never leaves this computer. */
function isPrivate({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || isLoopbackHost(hostname)
}

function parsed(url: string): URL | undefined {
  return URL.canParse(url) ? new URL(url) : undefined
}

/** npm's settings `ca`, `cafile`, `proxy`, `https-proxy` and `noproxy`, then the proxy variables of the environment. */
function npmNetwork(
  setting: (key: string) => unknown,
  cafile: string,
  env: Env,
): Pick<Network, 'ca' | 'proxyFor'> {
  const listed = strings(setting('ca')).map((text) => text.replaceAll('\\n', '\n'))
  const filed = certificatesIn(cafile)
  const ca = [...listed, ...filed]
  const proxySetting = (key: string): Setting => {
    const [value] = strings(setting(key)).filter((text) => text.includes('://')) // npm writes null for none
    return { name: `npm's setting '${key}'`, value }
  }
  const { http, https, noProxy } = environmentSettings(env)
  return {
    ca: ca.length > 0 ? ca : undefined,
    proxyFor: proxyFrom({
      http: [proxySetting('proxy'), ...http],
      https: [proxySetting('https-proxy'), proxySetting('proxy'), ...https],
      noProxy: [...strings(setting('noproxy')), noProxy].join(','),
    }),
  }
}

const strings = (value: unknown): string[] =>
  [value].flat().filter((text): text is string => typeof text === 'string' && text !== '')

const [BEGIN, END] = ['-----BEGIN CERTIFICATE-----', '-----END CERTIFICATE-----']

function certificatesIn(text: string): string[] {
  return text.split(BEGIN).flatMap((part, index) => {
    const end = part.indexOf(END)
    return index === 0 || end === -1 ? [] : [BEGIN + part.slice(0, end) + END]
  })
}
