import { join } from 'node:path'

/** With it, npm uses only this registry, with its own cache and settings. */
export const npmEnv = (home: string, registry: string) => ({
  npm_config_registry: registry,
  npm_config_cache: join(home, 'npm-cache'),
  npm_config_userconfig: join(home, 'npmrc'),
  npm_config_fetch_retry_mintimeout: '100', // instead of 10 s before the second try
  npm_config_globalconfig: join(home, 'global-npmrc'),
  CANARY: join(home, 'canary'),
})
