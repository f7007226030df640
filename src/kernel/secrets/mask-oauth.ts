import { MASK } from './secrets.ts'

/** The secrets among the OAuth settings of a server. */
export const OAUTH_SECRETS = ['client_secret', 'private_key'] as const

/** The OAuth settings of a server with their secrets masked. */
export const maskOAuth = <T extends object>(settings: T): T => ({
  ...settings,
  ...Object.fromEntries(OAUTH_SECRETS.filter((field) => field in settings).map((field) => [field, MASK])),
})
