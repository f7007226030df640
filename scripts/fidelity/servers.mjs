// Real servers from npm, in fixed versions. Each starts without an account, or with invented credentials, and without network.
import { installPackages, programOf } from './install.mjs'

/** @returns the entry with the program in its arguments; an entry without a package is complete */
export async function installServer(server) {
  if (!server.package) return server
  const folder = await installPackages(server.package, { [server.package]: server.version })
  return { ...server, args: [programOf(folder, server.package, server.bin), ...(server.arguments ?? [])] }
}

export const SERVERS = []
