import { MASK, maskUrl } from '../../kernel/secrets/mask-secrets.ts'
import { commandLine, type Diagnosis, explained } from '../shared/diagnosis.ts'
import type { ConnectionReport, HttpServer } from './http-servers.schema.ts'

/** The steps of a connection test as checks. */
export function diagnosisOf(server: HttpServer, { steps, error }: ConnectionReport): Diagnosis {
  const enabled = {
    name: 'enabled',
    ok: server.enabled,
    detail: server.enabled ? 'It is enabled' : 'It is disabled, so agents do not see it. Enable it',
  }
  const checks = steps.map(({ name, ok, detail }) => ({
    name,
    ok,
    detail: ok || !error ? detail : explained(error),
  }))
  return { checks: [enabled, ...checks], command_line: commandLineOf(server), repair: null }
}

/** The first message of a connection, sent with curl. */
function commandLineOf({ url, headers }: HttpServer): string {
  const names = ['Content-Type: application/json', 'Accept: application/json, text/event-stream']
  const secret = Object.keys(headers).map((name) => `${name}: ${MASK}`)
  const sent = [...names, ...secret].flatMap((header) => ['-H', header])
  return commandLine({ words: [CURL, '-i', maskUrl(url), ...sent, '-d', INITIALIZE] })
}

/** In PowerShell, curl alone is another command. */
const CURL = process.platform === 'win32' ? 'curl.exe' : 'curl'

const INITIALIZE = JSON.stringify({
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'curl', version: '1' },
  },
})
