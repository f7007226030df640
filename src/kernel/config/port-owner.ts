import { StartError } from '../exit.ts'
import { processListening } from './system/port-listener.ts'

/** A Toolroom that has just started answers after its API is built, which takes a while on a busy computer. */
const ANSWERS_WITHIN_MS = 5000

/** The error for a port in use, with its owner if that can be found out. */
export async function portTaken(host: string, port: number): Promise<StartError> {
  const owner = (await isToolroom(port))
    ? 'another Toolroom'
    : ((await processListening(port)) ?? 'another program')
  return new StartError(
    'port_taken',
    `Port ${port} on ${host} is in use by ${owner}; set PORT to another port, or to 0 for any free one`,
  )
}

async function isToolroom(port: number): Promise<boolean> {
  try {
    const reply = await fetch(`http://127.0.0.1:${port}/api/health`, {
      signal: AbortSignal.timeout(ANSWERS_WITHIN_MS),
      redirect: 'manual',
    })
    const { version, checks } = (await reply.json()) as { version?: unknown; checks?: unknown }
    return typeof version === 'string' && Array.isArray(checks)
  } catch {
    return false // no HTTP, no JSON, or no response in time
  }
}
