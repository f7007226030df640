import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { openSqlite } from '../../src/store/sqlite/sqlite.ts'
import { ask, JSON_TYPE } from '../support/answers.ts'
import { Canaries } from '../support/canaries.ts'
import { figure } from '../support/figure.ts'
import { ownFolder } from '../support/folder.ts'
import { definition } from '../support/running-servers.ts'
import { refusedSecrets, secretHttpServer, secretServer, secretSnippets } from '../support/secret-input.ts'
import { AUTHORISED, openTestService, type TestService, TOKEN } from '../support/test-service.ts'

/** The script of the goal R24. */

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
interface Answer {
  readonly asked: string
  readonly status: number
  readonly text: string
}

/** Sends requests and keeps every response with its headers. */
function listener(service: TestService) {
  const answers: Answer[] = []
  const send = async (
    method: Method,
    url: string,
    body?: object | string,
    headers: Record<string, string> = AUTHORISED,
  ) => {
    const payload = typeof body === 'object' ? JSON.stringify(body) : body
    const typed = payload === undefined ? headers : { ...JSON_TYPE, ...headers }
    const reply = await service.inject({
      method,
      url,
      headers: typed,
      ...(payload !== undefined && { payload }),
    })
    const text = `${JSON.stringify(reply.headers)}\n${reply.body}`
    answers.push({
      asked: `${method} ${url.split('?')[0]} (${reply.statusCode})`,
      status: reply.statusCode,
      text,
    })
    return reply
  }
  const leaks = (canaries: Canaries) =>
    answers.flatMap(({ asked, text }) => canaries.in(`the response to ${asked}`, text))
  return { answers, send, leaks }
}

type Send = ReturnType<typeof listener>['send']

/** Reads everything: each route, each page of the log, each download format. */
async function readAll(service: TestService, send: Send): Promise<void> {
  const ids = { '/api/servers': ['one', 'two', 'renamed'], '/api/http-servers': ['far', 'moved'] }
  for (const { method, url } of service.app.methods.list().filter((route) => route.method === 'GET')) {
    const listed = Object.entries(ids).find(([path]) => url === `${path}/:id`)?.[1] ?? ['missing']
    for (const id of listed) await send(method as 'GET', url.replace(/:\w+/, id))
  }
  await readLogs(send)
}

async function readLogs(send: Send): Promise<void> {
  for (const format of ['ndjson', 'text', 'csv']) {
    const { body } = await send('GET', `/api/logs/download?format=${format}`)
    expect(body).toMatch(/server.added/)
  }
  for (let cursor = ''; ; ) {
    const { next_cursor } = (await send('GET', `/api/logs?limit=1000${cursor}`)).json()
    if (next_cursor === null) break
    cursor = `&cursor=${next_cursor}`
  }
}

test('R24: no secret is in any response, log line, audit row or file', async () => {
  const canaries = new Canaries()
  canaries.keep('AUTH_TOKEN', TOKEN)
  const secretKey = randomBytes(32).toString('hex')
  canaries.keep('TOOLROOM_SECRET_KEY', secretKey)
  const home = ownFolder()
  const env = { LOG_LEVEL: 'trace', TOOLROOM_SECRET_KEY: secretKey }
  const service = await openTestService({ home, env })
  const { answers, send, leaks } = listener(service)

  // Added, changed, renamed.
  for (const name of ['One', 'Two']) {
    expect((await send('POST', '/api/servers', secretServer(canaries, name, 'added'))).statusCode).toBe(201)
    const { name: _, ...changed } = secretServer(canaries, name, 'changed')
    expect((await send('PATCH', `/api/servers/${name}`, changed)).statusCode).toBe(200)
  }
  expect(
    (await send('POST', '/api/http-servers', secretHttpServer(canaries, 'Far', 'added'))).statusCode,
  ).toBe(201)
  const { name: _, ...moved } = secretHttpServer(canaries, 'Far', 'changed')
  expect((await send('PUT', '/api/http-servers/far', moved)).statusCode).toBe(200)
  expect((await send('PATCH', '/api/servers/two', { name: 'Renamed' })).statusCode).toBe(200)

  // The masked view is written back, with one new secret.
  const seen = (await send('GET', '/api/servers/one')).json()
  expect(seen.env).toEqual({ GITHUB_TOKEN: '***', SETTING: '***' })
  const back = { args: seen.args, env: { ...seen.env, NEW: canaries.make('written back: env') } }
  expect((await send('PATCH', '/api/servers/one', back)).statusCode).toBe(200)

  // Named secrets: set, changed, refused, used by a server that leaks it, and moved out of a snippet.
  for (const when of ['set', 'changed']) {
    const value = canaries.make(`a named secret: ${when}`)
    expect((await send('PUT', '/api/secrets/KEY', { value })).statusCode).toBe(200)
  }
  await send('PUT', '/api/secrets/not a name', { value: canaries.make('a named secret: refused') })
  const referring = {
    MY_SECRET: `\${secret:KEY}`,
    OTHER: `\${env:NOT_SET:-${canaries.make('the default of a reference')}}`,
  }
  await send('POST', '/api/servers', definition('leaky', [], { env: referring }))
  expect((await send('POST', '/api/servers/leaky/start')).statusCode).toBe(200)
  const plain = {
    command: 'npx',
    args: ['--api-key', canaries.make('moved: an argument')],
    env: { A_TOKEN: canaries.make('moved: env') },
  }
  await send('POST', '/api/servers/import', { mcpServers: { moved: plain }, move_secrets: true })
  expect((await send('GET', '/api/secrets')).json().total).toBe(3)

  // Pasted snippets; bodies refused for their content, their form or their sender.
  for (const snippet of secretSnippets(canaries)) await send('POST', '/api/servers/import', snippet)
  const refused = refusedSecrets(canaries)
  for (const body of refused.stdio) await send('POST', '/api/servers', body)
  for (const body of refused.stdio) await send('PATCH', '/api/servers/one', body)
  for (const body of refused.http) await send('POST', '/api/http-servers', body)
  for (const body of refused.http) await send('PUT', '/api/http-servers/far', body)
  expect(answers.filter(({ status }) => status === 422).length).toBeGreaterThan(40)
  const body = secretServer(canaries, 'Two', 'refused')
  await send('POST', '/api/servers', body, {})
  await send('POST', '/api/servers', body, { 'x-svc-token': canaries.make('a wrong token') })
  await send('POST', '/api/servers', body, { ...AUTHORISED, 'content-type': 'text/plain' })
  await send('POST', '/api/servers', { ...body, name: 'One' })
  await send('PATCH', '/api/servers/one', { ...body, name: 'Far' })
  await send('PATCH', '/api/servers/one', body, {
    ...AUTHORISED,
    'if-match': canaries.make('If-Match').slice(0, 38),
  })
  await send('PATCH', '/api/servers/missing', body)
  for (const path of ['/api/nowhere', '/api/health', '/api/servers', '/api/logs', '/docs'])
    await send('GET', `${path}?token=${canaries.make(`the query of ${path}`)}`)
  await send('GET', '/api/servers', undefined, {
    authorization: canaries.make('Authorization'),
    cookie: canaries.make('Cookie'),
  })
  await ask(service, 'POST', '/api/servers', {
    'X-SVC-Token': TOKEN,
    'X-Key': `${canaries.make('a header')}\u0001`,
  })

  await send('DELETE', '/api/servers/pasted')
  await readAll(service, send)
  expect(leaks(canaries)).toEqual([])
  expect(canaries.inFiles(home)).toEqual([])

  // A second start makes a backup and reads everything again; then everything is deleted.
  await service.close()
  expect(canaries.inFiles(home)).toEqual([])
  const again = await openTestService({ home, env })
  const later = listener(again)
  await readAll(again, later.send)
  for (const url of ['/api/servers', '/api/http-servers']) {
    for (const { id } of (await later.send('GET', url)).json().items)
      await later.send('DELETE', `${url}/${id}`)
  }
  await readAll(again, later.send)
  await later.send('DELETE', '/api/logs')
  await again.close()
  expect(later.leaks(canaries)).toEqual([])
  const inFiles = canaries.inFiles(home)
  expect(inFiles).toEqual([])
  const shown = [...leaks(canaries), ...later.leaks(canaries)]
  const responses = answers.length + later.answers.length
  figure('R24', `secrets shown in ${responses} responses`, shown.length, { exactly: 0 })
  figure('R24', 'secrets in the clear in files', inFiles.length, { exactly: 0 })
  expect([...service.warnings, ...again.warnings].flatMap((text) => canaries.in('a warning', text))).toEqual(
    [],
  )
})

test('R24: without the token, no read shows a word of a command that may be a secret', async () => {
  const canaries = new Canaries()
  const home = ownFolder()
  const word = (where: string) => canaries.word(where)
  const entry = (where: string) => ({
    command: 'npx',
    args: [
      '-y',
      '@example/server',
      word(`${where}: a word`),
      '--name',
      `of ${word(`${where}: a value`)}`,
      `a=${word(`${where}: an assignment`)}`,
    ],
  })
  writeFileSync(
    join(home, '.claude.json'),
    JSON.stringify({
      mcpServers: { theirs: entry("an agent's file"), spaced: { command: `run ${word('a command')}` } },
    }),
  )
  const service = await openTestService({ home, env: { LOG_LEVEL: 'trace' } })
  const { send, answers, leaks } = listener(service)
  const messages: string[] = []
  const socket = new WebSocket(`${service.address.replace('http', 'ws')}/api/ws/metrics`)
  onTestFinished(() => socket.terminate())
  socket.on('message', (data) => messages.push(String(data)))
  await once(socket, 'open')
  socket.send(JSON.stringify({ type: 'subscribe', topics: ['log'] }))

  const added = (await send('POST', '/api/servers', { name: 'One', ...entry('added') })).json()
  expect(added.args[2]).toMatch(/^a1/) // with the token it is shown
  expect((await send('PATCH', '/api/servers/one', entry('changed'))).statusCode).toBe(200)
  expect(
    (await send('POST', '/api/servers', { name: 'Two', command: `run ${word('a command of ours')}` }))
      .statusCode,
  ).toBe(201)
  await send('POST', '/api/servers/two/start') // it fails, and the error names the command
  answers.length = 0 // what was sent with the token

  const anonymous = (url: string) => send('GET', url, undefined, {})
  for (const { method, url } of service.app.methods.list().filter((route) => route.method === 'GET')) {
    const path = url.replace(':agent_type', 'claude-code').replace(/:\w+/, 'one')
    expect(method, url).toBe('GET')
    await anonymous(path)
  }
  for (const url of [
    '/api/servers/two',
    '/api/servers/two/tools',
    '/api/logs?limit=1000',
    '/api/logs/download?format=csv',
  ])
    await anonymous(url)
  const shown = (await anonymous('/api/servers/one')).json()
  expect([shown.command, ...shown.args]).toEqual([
    'npx',
    '-y',
    '@example/server',
    '***',
    '--name',
    '***',
    '***',
  ])
  const agent = (await anonymous('/api/agents/claude-code')).json()
  expect(agent.servers[0].args).toEqual(['-y', '@example/server', '***', '--name', '***', '***'])
  expect(agent.servers[1].command).toBe('run ***')
  await sleep(300)
  expect(leaks(canaries)).toEqual([])
  expect(messages.flatMap((text) => canaries.in('a message of the WebSocket', text))).toEqual([])

  // What was read without the token can be written back with it.
  const before = (await send('GET', '/api/servers/one')).json()
  expect(
    (await send('PATCH', '/api/servers/one', { args: shown.args, command: shown.command })).json().args,
  ).toEqual(before.args)
  expect((await send('PATCH', '/api/servers/one', { args: shown.args.slice(1) })).statusCode).toBe(422)
  const two = (await anonymous('/api/servers/two')).json()
  expect(two.command).toBe('run ***')
  const kept = (await send('PATCH', '/api/servers/two', { command: two.command, description: 'x' })).json()
  expect(kept.command).toMatch(/^run a1/)
})

test('R24: a log line that contains a stored secret is stored without it', async () => {
  const canaries = new Canaries()
  const service = await openTestService({ env: { LOG_LEVEL: 'trace' } })
  const { send, leaks } = listener(service)
  const server = secretServer(canaries, 'One', 'a line')
  const remote = secretHttpServer(canaries, 'Far', 'a line')
  await send('POST', '/api/servers', server)
  await send('POST', '/api/http-servers', remote)
  const quoted = [...server.args, ...Object.values(server.env), remote.url, ...Object.values(remote.headers)]
  for (const text of quoted) {
    service.log.info(`it said ${text} and went on`)
    service.log.warn({ server_id: 'one', found: text, nested: { list: [`a ${text} b`] } }, 'a value')
    service.log.error({ error: new Error(`cannot use ${text}`, { cause: new Error(text) }) }, 'an error')
    service.log.debug(`in a URL: ${encodeURIComponent(text)}`)
    service.log.debug(`as JSON: ${JSON.stringify({ text })}`)
  }
  await readLogs(send)
  expect(leaks(canaries)).toEqual([])
  expect(canaries.inFiles(service.home)).toEqual([])
})

test('R24: a secret is masked where it is used as a name, too', async () => {
  const canaries = new Canaries()
  const service = await openTestService()
  const { send, leaks } = listener(service)
  const secret = canaries.make('env')
  await send('POST', '/api/servers', { name: 'One', command: 'npx', env: { KEY: secret } })
  service.log.info({ counts: { [secret]: 1 } }, 'a name')
  await readLogs(send)
  expect(leaks(canaries)).toEqual([])
})

test('R24: the secrets of a server stay masked when a server of the same name is refused', async () => {
  const canaries = new Canaries()
  const service = await openTestService()
  const { send, leaks } = listener(service)
  const secret = canaries.make('the header of a registered server')
  const remote = { name: 'Docs', url: 'https://docs.example/', headers: { 'X-Key': secret } }
  expect((await send('POST', '/api/http-servers', remote)).statusCode).toBe(201)
  const other = { name: 'Docs', command: 'npx', env: { KEY: 'another-secret' } }
  expect((await send('POST', '/api/servers', other)).statusCode).toBe(409)
  service.log.info(`the remote answered ${secret}`)
  await readLogs(send)
  expect(leaks(canaries)).toEqual([])
})

test('R24: secrets in the output of a server and the contents of a call are not logged', async () => {
  const canaries = new Canaries()
  const service = await openTestService({ env: { LOG_LEVEL: 'trace' } })
  const { send, leaks } = listener(service)
  const secret = canaries.make('env of a server that prints it')
  const leaky = definition('leaky', [], { env: { MY_SECRET: secret } })
  const failing = definition('leaky', ['--fail'], { name: 'failing', env: { MY_SECRET: secret } })
  for (const server of [leaky, failing]) await send('POST', '/api/servers', server)
  await send('POST', '/api/servers/leaky/start')
  const failed = await send('POST', '/api/servers/failing/start')
  expect(failed.json().last_error.message).toContain('MY_SECRET is ***')
  const argument = canaries.make('an argument')
  const url = '/api/servers/leaky/tools/tell/call'
  const payload = { arguments: { argument } }
  const reply = await service.inject({ method: 'POST', url, headers: AUTHORISED, payload })
  expect(reply.body).toContain(secret) // the caller gets the result unchanged
  await send('POST', url.replace('tell', 'unknown'), payload) // the log names the tool that was requested
  await send('POST', '/api/servers/leaky/restart')
  await send('GET', '/api/servers/leaky/tools')
  await send('POST', '/api/servers/leaky/stop')
  await send('GET', '/api/servers')
  await send('DELETE', '/api/servers/failing')
  await sleep(1200) // until repeated lines are written
  await readLogs(send)
  expect(leaks(canaries)).toEqual([])
  await service.close()
  expect(canaries.inFiles(service.home)).toEqual([])
})

test('R24: equal secrets are stored as different ciphertexts in every location and every version', async () => {
  const service = await openTestService()
  const { send } = listener(service)
  const same = { command: 'npx', args: ['--token', 'same'], env: { KEY: 'same' } }
  for (const name of ['One', 'Two']) await send('POST', '/api/servers', { name, ...same })
  const before = sealedValues(service)
  expect(new Set(before).size).toBe(8) // args, env, what is allowed and the digest of the row, of two servers
  for (const value of before) expect(value).toMatch(/^v1:[A-Za-z0-9+/]{40,}={0,2}$/)
  // A change of another field encrypts again with a new nonce.
  await send('PATCH', '/api/servers/one', { description: 'changed' })
  const all = [...before, ...sealedValues(service)]
  expect(new Set(all.map((value) => value.slice(0, 19))).size).toBe(new Set(all).size)
})

function sealedValues(service: TestService): string[] {
  const database = openSqlite(join(service.data, 'toolroom.db'))
  const rows = database.prepare('SELECT sealed_fields FROM tool_servers ORDER BY id').all()
  database.close()
  return rows.flatMap(({ sealed_fields }) =>
    Object.values(JSON.parse(String(sealed_fields)) as Record<string, string>),
  )
}
