import { createHash } from 'node:crypto'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import * as Type from 'typebox'
import { AppError } from '../../kernel/errors.ts'
import { anyObject } from '../../kernel/schema-fields.ts'
import { donePage, failedPage, type Page, startPage, textPage } from './login-pages.ts'
import type { Logins } from './logins.ts'

const MAX_FORM_BYTES = 1024
const COOKIE_S = 600

const Ticket = Type.Object({ ticket: Type.String({ pattern: '^[\\w-]{1,64}$' }) })
/** Any text: one that no login has gets the page of an unknown login. */
const Place = Type.Object({ issuer: Type.String() })
/** An issuer may add parameters of its own. */
const Anything = anyObject()
const OutcomeId = Type.Object({ id: Type.Optional(Type.String({ pattern: '^[\\w-]{0,64}$' })) })

const LINK_GONE = textPage(
  'This link is no longer valid',
  'It has expired, or its login is finished. To log in, call the tool again, or run toolroom login.',
)
const NO_OUTCOME = textPage(
  'No login is waiting for this answer',
  'It is finished, it is older than 10 minutes, or it began in another browser. To log in, start again.',
)

/** What a browser opens during a login. The pages are public: their addresses contain a secret of the login. */
export function loginPages(
  logins: Pick<Logins, 'describe' | 'go' | 'finish' | 'outcome'>,
): FastifyPluginAsyncTypebox {
  return async (app) => {
    // Browsers send forms in this type, even without fields.
    app.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'buffer', bodyLimit: MAX_FORM_BYTES },
      (_request, _body, done) => done(null, undefined),
    )

    // No HEAD: it would use up the code. The outcome has another address, so that code and state do not stay in sight.
    const callback = { schema: { hide: true, querystring: Anything }, exposeHeadRoute: false }
    const end = async (request: FastifyRequest, reply: FastifyReply, place: string | null) => {
      const { searchParams: query } = new URL(request.raw.url ?? '', 'http://localhost')
      const name = cookieName(query.get('state'))
      const cookie = cookieIn(request.headers.cookie, name)
      if (cookie !== undefined) void reply.header('set-cookie', cookieText(name, '', 0))
      const outcome = await logins.finish(query, { cookie, place }).catch(ifUnknown)
      const done = place === null ? 'done' : '../done' // behind a proxy, the path may have more parts
      return reply.redirect(outcome ? `${done}?id=${outcome.id}` : done, 303)
    }
    app.get('/oauth/callback', callback, (request, reply) => end(request, reply, null))
    const ofIssuer = { schema: { ...callback.schema, params: Place }, exposeHeadRoute: false }
    app.get('/oauth/callback/:issuer', ofIssuer, (request, reply) =>
      end(request, reply, request.params.issuer),
    )

    app.get('/oauth/done', { schema: { hide: true, querystring: OutcomeId } }, async (request, reply) => {
      const outcome = await logins.outcome(request.query.id ?? '')
      return sendPage(reply, outcome ? donePage(outcome) : NO_OUTCOME)
    })

    const start = { schema: { hide: true, params: Ticket }, exposeHeadRoute: false }
    app.get('/oauth/start/:ticket', start, async (request, reply) => {
      const planned = await logins.describe(request.params.ticket)
      if (!planned) return sendPage(reply.code(404), LINK_GONE)
      const { server_name, problem } = planned
      return problem
        ? sendPage(reply.code(502), failedPage(server_name, problem))
        : sendPage(reply, startPage(planned))
    })

    app.post('/oauth/start/:ticket', start, async (request, reply) => {
      try {
        const begun = await logins.go(request.params.ticket)
        if (!begun) return sendPage(reply.code(404), LINK_GONE)
        const { authorization_url, cookie } = begun
        const state = new URL(authorization_url).searchParams.get('state')
        if (cookie !== null) void reply.header('set-cookie', cookieText(cookieName(state), cookie, COOKIE_S))
        return reply.redirect(authorization_url, 303)
      } catch (error) {
        if (!(error instanceof AppError)) throw error
        return sendPage(reply.code(error.status), failedPage(null, error))
      }
    })
  }
}

const sendPage = (reply: FastifyReply, { html, headers }: Page): FastifyReply =>
  reply.headers(headers).send(html)

function ifUnknown(error: unknown): undefined {
  if (!(error instanceof AppError)) throw error
}

/** One cookie for each login, because several may be pending in one browser. */
function cookieName(state: string | null): string {
  const digest = createHash('sha256')
    .update(state ?? '')
    .digest('hex')
  return `__Host-toolroom-login-${digest.slice(0, 16)}`
}

/** `Lax`: the browser sends it when the issuer redirects back. */
const cookieText = (name: string, value: string, maxAgeS: number): string =>
  `${name}=${value}; Path=/; Max-Age=${maxAgeS}; HttpOnly; Secure; SameSite=Lax`

const cookieIn = (header: string | undefined, name: string): string | undefined =>
  header
    ?.split(';')
    .map((pair) => pair.trim().split('=', 2))
    .find(([each]) => each === name)?.[1]
