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

/** How a browser gets the token without it being in a URL, where the history would keep it. */
export function loginRoutes(deps: Deps): FastifyPluginAsyncTypebox {
  const { codes, token, now, wrongCodeDelayMs, audit } = deps
  return async (app) => {
    const create = operation(
      'Create a login code',
      'The code can be exchanged for the token once, within 60 s, with `POST /api/login`.',
      { response: { 201: schema.LoginCode } },
    )
    app.post('/login-codes', create, async (_, reply) => {
      const { code, lifetimeMs } = codes.issue()
      return reply.code(201).send({ code, expires_at: isoTime(now() + lifetimeMs) })
    })

    const login = operation(
      'Exchange a login code for the token',
      'Works once for each code, within 60 s. After ten wrong codes within a minute, responses are delayed.',
      { body: schema.LoginInput, response: { 200: schema.Login }, errors: ['code_spent'] },
    )
    app.post('/login', login, async (request) => {
      const address = request.socket.remoteAddress
      if (!codes.redeem(request.body.code)) {
        await sleep(wrongCodeDelayMs(address))
        throw new AppError('code_spent', 'The login code is unknown, was used, or is older than 60 s', {
          hint: 'Create a new one with POST /api/login-codes',
        })
      }
      await audit({ action: 'login', subject: 'code', request_id: request.id, detail: {} })
      return { token: token() }
    })
  }
}
