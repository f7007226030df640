import { join } from 'node:path'
import type { AccessToken, Guesses } from '../../api/http/auth.ts'
import { settingsRoutes } from '../../api/settings/settings.routes.ts'
import { createSettings } from '../../api/settings/settings.service.ts'
import { loginRoutes } from '../../api/sign-in/sign-in.routes.ts'
import { LoginCodes } from '../../api/sign-in/sign-in-codes.ts'
import type { Config } from '../../kernel/config/config.ts'
import type { RunningSettings } from '../../kernel/config/running-settings.ts'
import type { AuditEntry } from '../../kernel/facts.ts'
import type { KnownSecrets } from '../../kernel/secrets/known-secrets.ts'
import type { Live } from '../../observe/live/live.service.ts'

interface Deps {
  readonly config: Config
  readonly running: RunningSettings
  readonly token: AccessToken
  readonly secrets: KnownSecrets
  readonly guesses: Guesses
  readonly live: Pick<Live, 'disconnect'>
  readonly audit: (entry: AuditEntry) => Promise<void>
  readonly shutDown: () => void
}

/** What concerns the service itself: its settings, its token, login codes, and its end. */
export function openSelf({ config, running, token, secrets, guesses, live, audit, shutDown }: Deps) {
  const codes = new LoginCodes(() => performance.now())
  const settings = createSettings({
    config,
    running,
    file: join(config.folders.data, 'config.json'),
    audit,
    onToken: (value) => {
      secrets.set('auth_token', [value, token.value]) // log lines may still contain the old one
      token.replace(value)
      codes.clear()
      if (config.protect_reads) live.disconnect('the token was replaced')
    },
    shutDown,
  })
  return [
    settingsRoutes(settings),
    loginRoutes({
      codes,
      token: () => token.value,
      now: Date.now,
      wrongCodeDelayMs: (address) => guesses.delayMs(address),
      audit,
    }),
  ]
}
