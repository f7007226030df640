import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { AppError } from '../../kernel/errors.ts'
import type { AuditEntry } from '../../kernel/fact-bus.ts'
import { operationsOf } from '../../kernel/rest-parts.ts'
import { isoTime } from '../../kernel/time.ts'
import * as schema from './sign-in.schema.ts'
import type { LoginCodes } from './sign-in-codes.ts'

export interface Deps {
  readonly codes: Pick<LoginCodes, 'issue' | 'redeem'>
  readonly token: () => string
  readonly now: () => number
  /** Counts a wrong code. Returns how long its response has to wait. */
  readonly wrongCodeDelayMs: (address: string | undefined) => number
  readonly audit: (entry: AuditEntry) => Promise<void>
}

const operation = operationsOf('Service')
const HINT = 'Create a new one with POST /api/login-codes'

/** How a browser gets the token without it being in a URL, where the history would keep it. */
export function loginRoutes(deps: Deps): FastifyPluginAsyncTypebox {
  const { codes, token, now, wrongCodeDelayMs, audit } = deps
  return async (app) => {
    const create = operation(
      'Create a login code',
      'The code can be exchanged for the token once, with `POST /api/login`. It lives for 60 s, or as long as the request says.',
      { body: schema.LoginCodeInput, response: { 201: schema.LoginCode } },
    )
    app.post('/login-codes', create, async (request, reply) => {
      const lifetimeMs = (request.body.lifetime_s ?? schema.LIFETIME_S) * 1000
      const code = codes.issue(lifetimeMs)
      return reply.code(201).send({ code, expires_at: isoTime(now() + lifetimeMs) })
    })

    const login = operation(
      'Exchange a login code for the token',
      'Works once for each code, until it expires. After ten wrong codes within a minute, responses are delayed.',
      { body: schema.LoginInput, response: { 200: schema.Login }, errors: ['code_spent', 'code_expired'] },
    )
    app.post('/login', login, async (request) => {
      const address = request.socket.remoteAddress
      const state = codes.redeem(request.body.code)
      if (state !== 'valid') {
        await sleep(wrongCodeDelayMs(address))
        throw state === 'expired'
          ? new AppError('code_expired', 'The login code has expired', { hint: HINT })
          : new AppError('code_spent', 'The login code is unknown, or was used', { hint: HINT })
      }
      await audit({ action: 'login', subject: 'code', request_id: request.id, detail: {} })
      return { token: token() }
    })
  }
}
