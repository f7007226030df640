// The client of the suite's auth scenarios: a user of a running service. It adds the suite's server, calls a tool, logs in
// whenever the service says that a login is needed, and calls again. The suite appends the URL.
//   TOOLROOM_ADDRESS=http://127.0.0.1:8665 TOOLROOM_TOKEN=… node test/conformance/login-client.mjs <url>
// The last line of stdout is what happened, as JSON.
import { once } from 'node:events'
import { request } from 'node:http'
import { UserAgent } from '../support/user-agent.mjs'

const [url] = process.argv.slice(2)
const { MCP_CONFORMANCE_SCENARIO: scenario = '', MCP_CONFORMANCE_CONTEXT = '{}' } = process.env
const { TOOLROOM_ADDRESS, TOOLROOM_DOCUMENT_ADDRESS, TOOLROOM_TOKEN } = process.env
const address = scenario === 'auth/basic-cimd' ? TOOLROOM_DOCUMENT_ADDRESS : TOOLROOM_ADDRESS
/** The service has to stop before this. */
const MAX_LOGINS = 6

if (scenario.startsWith('auth/')) {
  const happened = await run()
  console.log(JSON.stringify(happened))
  process.exitCode = happened.called ? 0 : 1
}

async function run() {
  const name = `${scenario.slice('auth/'.length)} ${process.pid}`
  const { id } = await must('POST', '/http-servers', { name, url, ...(await oauthInput()) })
  const asked = []
  for (;;) {
    const call = await ask('POST', `/http-servers/${id}/tools/test-tool/call`, {})
    if (call.status === 200) return { called: true, logins: asked.length, asked, code: null }
    const { auth: before } = await must('GET', `/http-servers/${id}/login`)
    if (before.state === 'refused' || call.body.code !== 'login_needed' || asked.length === MAX_LOGINS)
      return { called: false, logins: asked.length, asked, code: before.error?.code ?? call.body.code }
    const login = await ask('POST', `/http-servers/${id}/login`, {})
    if (login.status >= 300)
      return {
        called: false,
        logins: asked.length,
        asked,
        code: login.body.last_error?.code ?? login.body.code,
      }
    asked.push(login.body.scopes)
    // The suite's authorization server has no page: it redirects to the callback at once.
    await new UserAgent().open(login.body.authorization_url, { from: login.body.authorization_url })
    const { auth } = await must('GET', `/http-servers/${id}/login`)
    if (auth.state === 'refused') return { called: false, logins: asked.length, asked, code: auth.error.code }
  }
}

/** What an administrator would enter: the client of the scenario's context, and the issuer that it belongs to. */
async function oauthInput() {
  const { client_id, client_secret, private_key_pem, signing_algorithm } = JSON.parse(MCP_CONFORMANCE_CONTEXT)
  if (client_id === undefined) return {}
  const metadata = await send('GET', new URL('/.well-known/oauth-protected-resource/mcp', url), {})
  const [issuer] = metadata.body.authorization_servers
  const grant = scenario.startsWith('auth/client-credentials') ? 'client_credentials' : 'authorization_code'
  return {
    oauth: {
      client_id,
      issuer,
      grant,
      ...(client_secret !== undefined && { client_secret }),
      ...(private_key_pem !== undefined && { private_key: private_key_pem, signing_alg: signing_algorithm }),
    },
  }
}

async function must(method, path, body) {
  const { status, body: answer } = await ask(method, path, body)
  if (status >= 300) throw new Error(`${method} ${path}: ${status} ${answer.code} ${answer.detail}`)
  return answer
}

function ask(method, path, body) {
  const headers = { 'x-svc-token': TOOLROOM_TOKEN, ...(body && { 'content-type': 'application/json' }) }
  return send(method, `${address}/api${path}`, headers, body && JSON.stringify(body))
}

/** The suite starts this program for each scenario, and loading `fetch` takes as long as the rest of it. */
async function send(method, to, headers, text) {
  const [answer] = await once(request(to, { method, headers }).end(text), 'response')
  return {
    status: answer.statusCode,
    body: JSON.parse((await answer.setEncoding('utf8').toArray()).join('')),
  }
}
