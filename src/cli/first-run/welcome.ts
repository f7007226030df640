import { VERSION } from '../../kernel/version.ts'
import { type AnyServer, allServers, isUntried, needsHelp, standing, TRY_ALL } from '../run/any-server.ts'
import type { Run } from '../run/command-context.ts'
import type { Line } from '../run/printed-line.ts'
import { openSignedIn } from '../service/open.ts'
import { findAll } from './found-agents.ts'

/** `toolroom` alone: says what was found, changes nothing, and opens the dashboard where there is a display. */
export const welcome: Run = async (context) => {
  const { api, service, note } = context
  const { address } = service
  const isLocal = ['127.0.0.1', 'localhost', '[::1]'].includes(new URL(address).hostname)
  note(`Toolroom ${VERSION}  ${address}${isLocal ? '  (only this computer can reach it)' : ''}`)
  const servers = await allServers(api)
  const { scan, lines } =
    servers.length === 0
      ? await findAll(api, context.terminal.width)
      : { scan: null, lines: serverLines(servers) }
  for (const line of lines) note(line)
  if (scan?.entries === 0) note('Try it with a small one: toolroom add sample')
  const { url, isOpen } = await openSignedIn(context)
  return {
    json: { address, scan, servers: servers.length },
    lines: isOpen
      ? ['Opening the dashboard. Prefer the terminal? Run  toolroom init']
      : [
          'Open the dashboard within 10 minutes. The address works once:',
          `  ${url}`,
          'Prefer the terminal? Run  toolroom init',
        ],
  }
}

/** Two lines at most: how many servers work, and what to do about the others. */
function serverLines(servers: readonly AnyServer[]): Line[] {
  const [troubled] = servers.filter(needsHelp)
  const advice = [
    ...(troubled ? [`toolroom why ${troubled.id}`] : []),
    ...(servers.some(isUntried) ? [TRY_ALL] : []),
  ]
  const all = standing(servers)
  if (!all.endsWith('.')) return [advice.length === 0 ? `${all}.` : `${all}:  ${advice.join('  or  ')}`]
  return [`${all} Nothing needs you.`]
}
