import { texts } from '../../i18n/texts.ts'

/** Every setting of the service: where it is shown, its name, one sentence, and its control. */

export type Control =
  | { readonly kind: 'switch' | 'text' | 'list' | 'fixed' }
  | { readonly kind: 'number'; readonly unit: string; readonly min: number; readonly max: number }
  | {
      readonly kind: 'choice'
      readonly options: readonly { readonly value: string; readonly label: string }[]
    }

const t = texts('setting', {
  log_level: 'Log level',
  log_levelText: 'Lines of Toolroom itself below this level are not kept.',
  http_check_interval_s: 'Check interval of HTTP servers',
  http_check_interval_sText: 'How often Toolroom checks whether they answer. 0 turns the checks off.',
  min_release_age_days: 'Minimum age of package versions',
  min_release_age_daysText: 'Newer versions are not installed.',
  mcp_registry_url: 'MCP Registry',
  mcp_registry_urlText: 'Where servers are searched, besides npm.',
  toolroom_home: 'Data folder',
  toolroom_homeText: 'Database, token and backups.',
  host: 'Who can reach this service',
  hostText: 'The address it listens on. 127.0.0.1 is only this computer.',
  port: 'Port',
  portText: '0 chooses a free one.',
  public_url: 'Public address',
  public_urlText: 'Behind a TLS proxy: the address that others use.',
  allowed_hosts: 'Other host names',
  allowed_hostsText: 'Host names that clients may use, separated by commas.',
  auth_token_header_name: 'Header name',
  auth_token_header_nameText: 'The header of a request that carries the token.',
  protect_reads: 'Protect reads',
  protect_readsText: 'Reads need the token, too. The dashboard then asks for it.',
  oauth_client_metadata_url: 'Client metadata',
  oauth_client_metadata_urlText: 'The client id for issuers that accept a document.',
  toolroom_secret_key: 'Encryption key of secrets',
  toolroom_secret_keyText: 'Encrypts what is stored. By default a file in your configuration folder.',
  default_isolation: 'Isolation of new servers',
  default_isolationText: 'For local servers that you add from now on. None: they run with all your rights.',
  sandbox_user: 'User of sandboxed servers',
  sandbox_userText: 'Where Toolroom runs as root.',
  none: 'None',
  sandbox: 'Sandbox',
  container: 'Container',
  hold_changed_tools: 'Hold changed tools',
  hold_changed_toolsText: 'New and changed tools are hidden from agents until you approve them.',
  agents_start_service: 'Agents start Toolroom',
  agents_start_serviceText: 'An agent whose entry is a local command starts Toolroom when it is not running.',
  call_payloads: 'Arguments and results of calls',
  call_payloadsText: 'Sizes and timing are always kept. Bodies are redacted before they are stored.',
  log_max_mb: 'Size limit of logs',
  log_max_mbText: 'The oldest lines are deleted first.',
  metrics_retention_days: 'Keep metrics for',
  metrics_retention_daysText: 'Older metrics are deleted.',
  off: 'Off',
  memory: 'Memory, last 200',
  disk: 'Disk, 7 days',
  days: 'days',
  seconds: 'seconds',
  megabytes: 'MB',
})
type Key = Parameters<typeof t>[0]

const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'].map((value) => ({ value, label: value }))
const number = (unit: string, min: number, max: number): Control => ({ kind: 'number', unit, min, max })

export const SETTINGS: Readonly<Record<string, readonly (readonly [key: string, control: Control])[]>> = {
  general: [
    ['log_level', { kind: 'choice', options: levels }],
    ['http_check_interval_s', number(t('seconds'), 0, 86_400)],
    ['min_release_age_days', number(t('days'), 0, 3650)],
    [
      'default_isolation',
      {
        kind: 'choice',
        options: (['none', 'sandbox', 'container'] as const).map((value) => ({ value, label: t(value) })),
      },
    ],
    ['sandbox_user', { kind: 'text' }],
    ['mcp_registry_url', { kind: 'text' }],
    ['toolroom_home', { kind: 'fixed' }],
  ],
  access: [
    ['host', { kind: 'text' }],
    ['port', number('', 0, 65_535)],
    ['auth_token_header_name', { kind: 'text' }],
    ['protect_reads', { kind: 'switch' }],
    ['allowed_hosts', { kind: 'list' }],
    ['public_url', { kind: 'text' }],
    ['oauth_client_metadata_url', { kind: 'text' }],
    ['toolroom_secret_key', { kind: 'fixed' }],
  ],
  gateway: [
    ['hold_changed_tools', { kind: 'switch' }],
    ['agents_start_service', { kind: 'switch' }],
  ],
  privacy: [
    [
      'call_payloads',
      {
        kind: 'choice',
        options: (['off', 'memory', 'disk'] as const).map((value) => ({ value, label: t(value) })),
      },
    ],
  ],
  retention: [
    ['log_max_mb', number(t('megabytes'), 8, 1_048_576)],
    ['metrics_retention_days', number(t('days'), 1, 3650)],
  ],
}

export const nameOf = (key: string): string => t(key as Key)
export const textOf = (key: string): string => t(`${key}Text` as Key)
/** A test holds that every setting of the service is. */
export const isPlaced = (key: string): boolean =>
  key === 'auth_token' || Object.values(SETTINGS).some((all) => all.some(([each]) => each === key))
