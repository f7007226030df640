import * as Type from 'typebox'
import { LEVELS } from '../log.ts'
import { boolean, closed, integer, optional, text } from '../schema-fields.ts'

/** Headers with a meaning in HTTP. A token there would be lost or would break the request. */
const RESERVED_HEADERS =
  'host|origin|connection|upgrade|content-length|content-type|content-encoding|transfer-encoding|te|trailer|expect|keep-alive'

/**
 * All settings. The key is the name in `config.json`, in upper case the environment variable, with dashes the flag.
 * `expected` completes the sentence "PORT must be …".
 */
export const Settings = closed({
  host: text('Address to listen on. Anything but loopback requires a strong AUTH_TOKEN.', {
    default: '127.0.0.1',
    maxLength: 255,
    expected: 'an IP address or a host name',
  }),
  port: integer('Port to listen on; 0 chooses a free port and prints it.', {
    default: 8665,
    minimum: 0,
    maximum: 65_535,
    expected: 'a whole number from 0 to 65535',
  }),
  auth_token: Type.Optional(
    text('The token required for changes. Generated at the first start if unset.', {
      pattern: '^[\\x21-\\x7e]{1,512}$',
      secret: true,
      expected: '1 to 512 printable ASCII characters without a space',
    }),
  ),
  auth_token_header_name: text('The request header that carries the token.', {
    default: 'X-SVC-Token',
    pattern: `^(?!(?:${reservedAnyCase()})$)[A-Za-z0-9!#$%&'*+.^_\`|~-]{1,64}$`,
    expected: 'a header name with no predefined meaning in HTTP',
  }),
  protect_reads: boolean('Require the token for reads too; only /api/health and /docs stay public.', {
    default: false,
    expected: 'true or false',
  }),
  allowed_hosts: Type.Array(Type.String({ pattern: '^[A-Za-z0-9.\\-]{1,253}(:\\d{1,5})?$' }), {
    default: [],
    maxItems: 50,
    expected: 'host names separated by commas, such as toolroom.lan or toolroom.lan:8665',
    description: 'Additional host names that clients may use for the service.',
  }),
  ...optional({
    public_url: text('The address of the service behind a TLS proxy. Logins at tool servers return to it.', {
      pattern: '^https://[A-Za-z0-9.\\-]{1,253}(:\\d{1,5})?(/[A-Za-z0-9._~\\-]{1,64}){0,8}/?$',
      expected: 'an https URL such as https://toolroom.example.com',
    }),
    oauth_client_metadata_url: text(
      'A client metadata document, the client id for issuers that accept one.',
      {
        pattern: '^https://[A-Za-z0-9.\\-]{1,253}(:\\d{1,5})?/[^\\s?#]{1,700}$',
        expected: 'an https URL with a path',
      },
    ),
    toolroom_home: text("The data folder: database, token, backups. Default: your platform's data folder.", {
      minLength: 1,
      maxLength: 4096,
      expected: 'the path of a folder',
    }),
    toolroom_secret_key: text('Encrypts stored secrets. Default: a key file in your configuration folder.', {
      pattern: '^[0-9a-fA-F]{64}$',
      secret: true,
      expected: '64 hexadecimal digits',
    }),
  }),
  log_level: Type.Enum(LEVELS, {
    default: 'info',
    expected: `one of ${LEVELS.join(', ')}`,
    description: "Minimum level for the service's own log lines.",
  }),
  log_max_mb: integer('Disk space for logs; the oldest lines are deleted first.', {
    default: 512,
    minimum: 8,
    maximum: 1_048_576,
    expected: 'a whole number of megabytes, at least 8',
  }),
  metrics_retention_days: integer('How long metrics are kept.', {
    default: 30,
    minimum: 1,
    maximum: 3650,
    expected: 'a whole number of days, at least 1',
  }),
  call_payloads: Type.Enum(['off', 'memory', 'disk'], {
    default: 'memory',
    expected: 'off, memory or disk',
    description:
      'Keep the arguments and results of calls, with secrets masked: not at all, of the last 200 calls in memory, or encrypted on disk for 7 days.',
  }),
  http_check_interval_s: integer('Interval between checks of HTTP servers; 0 for never.', {
    default: 60,
    minimum: 0,
    maximum: 86_400,
    expected: 'a whole number of seconds; 0 for never',
  }),
  hold_changed_tools: boolean(
    'Hide new and changed tools, prompts and instructions from agents until you approve them.',
    { default: false, expected: 'true or false' },
  ),
  default_isolation: Type.Enum(['none', 'sandbox', 'container'], {
    default: 'none',
    expected: 'none, sandbox or container',
    description: 'Where the processes of new STDIO servers run, unless their definition says so.',
  }),
  sandbox_user: Type.String({
    default: 'nobody',
    pattern: '^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$',
    expected: 'the name or the number of a user',
    description: 'The user of sandboxed servers where Toolroom runs as root.',
  }),
  agents_start_service: boolean(
    'The bridge of a connected agent starts the service when it is not running.',
    {
      default: true,
      expected: 'true or false',
    },
  ),
  min_release_age_days: integer('Do not install package versions published more recently than this.', {
    default: 0,
    minimum: 0,
    maximum: 3650,
    expected: 'a whole number of days',
  }),
  mcp_registry_url: text('The MCP registry to search in addition to npm.', {
    default: 'https://registry.modelcontextprotocol.io',
    maxLength: 2048,
    pattern: '^https?://[^/?#@\\s]+(/[^?#\\s]*)?$',
    expected: 'an http or https URL',
  }),
})
export type Settings = Type.Static<typeof Settings>
export type SettingName = keyof Settings
export const SETTING_NAMES = Object.keys(Settings.properties) as SettingName[]

/** JSON Schema patterns have no flag to ignore case. */
function reservedAnyCase(): string {
  return RESERVED_HEADERS.replace(/[a-z]/g, (letter) => `[${letter}${letter.toUpperCase()}]`)
}

export const envName = (name: SettingName): string => name.toUpperCase()
/** The environment variables that configure Toolroom. */
export const ENV_NAMES: ReadonlySet<string> = new Set(
  (Object.keys(Settings.properties) as SettingName[]).map(envName),
)
export const flagName = (name: SettingName): string => `--${name.replaceAll('_', '-')}`

/** Every setting with its flag and its default, generated from the schema: `toolroom help settings`. */
export const settingRows = (): [label: string, does: string][] =>
  (Object.keys(Settings.properties) as SettingName[]).map((name) => {
    const schema = Settings.properties[name] as { description?: string; default?: unknown; secret?: boolean }
    const label = schema.secret ? `${envName(name)} (no flag)` : flagName(name)
    const preset =
      schema.default === undefined || String(schema.default) === '' ? '' : ` [${String(schema.default)}]`
    return [label, `${schema.description}${preset}`]
  })

/** Settings that take effect at once when they are changed. All others need a restart. */
const LIVE: readonly SettingName[] = [
  'auth_token',
  'log_level',
  'agents_start_service', // read by bridges, each time
  'min_release_age_days',
  'mcp_registry_url',
]

/** The settings that the service runs with. */
export class RunningSettings {
  #values: Readonly<Settings>
  readonly #onChange: (values: Readonly<Settings>) => void

  constructor(values: Readonly<Settings>, onChange: (values: Readonly<Settings>) => void) {
    this.#values = values
    this.#onChange = onChange
  }

  get<N extends SettingName>(name: N): Settings[N] {
    return this.#values[name]
  }

  /** The value must be valid. */
  change(name: SettingName, value: unknown): void {
    if (!LIVE.includes(name)) return
    this.#values = { ...this.#values, [name]: value }
    this.#onChange(this.#values)
  }
}
