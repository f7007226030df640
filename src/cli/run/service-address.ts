import { runningInstance } from '../../kernel/config/find-running-instance.ts'
import { configError } from '../../kernel/exit-codes.ts'
import type { Network } from '../../net/connection-pool.ts'
import { proxyFromEnvironment } from '../../net/proxy.ts'

/** The address of the service that uses this data folder; undefined if none is running. */
export function findAddress(folder: string): string | undefined {
  const address = runningInstance(folder)?.address
  // A service that listens on all addresses is reached over loopback.
  return address && baseOf(address.replace(/\/\/(?:0\.0\.0\.0|\[::\])(?=:)/, '//127.0.0.1'))
}

/** The base address from a flag or variable, which may include the gateway's path. */
export function parseAddress(url: string, from: string): string {
  const base = baseOf(url)
  if (base !== undefined) return base
  throw configError(`${from} must be an http or https URL such as http://127.0.0.1:8665`)
}

/** The same proxy variables as the service uses. The address comes from the user, so it may be link-local. */
export const networkFrom = (env: NodeJS.ProcessEnv): Partial<Network> => ({
  proxyFor: proxyFromEnvironment(env),
  linkLocal: true,
})

function baseOf(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search) return undefined
  return `${url.origin}${url.pathname.replace(/(?:\/mcp)?\/*$/, '')}`
}
