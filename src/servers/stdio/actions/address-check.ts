import type { Check } from '../../shared/diagnosis.ts'
import type { ServerLife } from '../instance-pool.ts'
import type { Startable } from './trial.ts'

/** Whether a port accepts connections now; undefined if the host must not be contacted. */
export type Probe = (host: string, port: number, mayLeave: boolean) => Promise<boolean | undefined>

const REFUSED = /\bECONNREFUSED ([\w.:-]{1,255}):(\d{1,5})(?!\d)/

/**
 * The address that refused a connection, by the last words of the server. It is tried again only on this computer, or
 * if the definition names it: what a server writes must not make Toolroom contact other hosts.
 */
export async function addressCheck(
  { lastError, recentExits }: ServerLife,
  { args, env }: Pick<Startable, 'args' | 'env'>,
  probe: Probe,
): Promise<Check[]> {
  if (lastError === null) return []
  const lines = [lastError.message, ...(recentExits[0]?.stderr_tail ?? []).toReversed()]
  const [, host = '', port = ''] = lines.map((line) => REFUSED.exec(line)).find((found) => found) ?? []
  if (host === '' || Number(port) > 65_535) return []
  const address = `${host}:${port}`
  const isOwn = [...args, ...Object.values(env)].some((text) => text.includes(address))
  const isOpen = await probe(host, Number(port), isOwn)
  if (isOpen === undefined) return []
  const detail = isOpen
    ? `${address} accepts connections now. Start the server again`
    : `Nothing listens on ${address}. Start the program that the server connects to`
  return [{ name: 'address', ok: isOpen, detail }]
}
