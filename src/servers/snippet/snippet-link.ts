import { Fault } from './snippet-error.ts'
import { findServers, isEntry, type Named } from './snippet-find.ts'
import { readJson } from './snippet-json.ts'

const VSCODE = /^vscode(?:-insiders)?:(?:\/\/)?mcp\/install\?(.+)$/s
const WITH_QUERY =
  /^(?:cursor:\/\/anysphere\.cursor-deeplink\/mcp\/install|https:\/\/(?:www\.)?cursor\.com\/(?:[a-z-]+\/)?(?:install-mcp|link\/mcp\/install)|https:\/\/(?:insiders\.)?vscode\.dev\/redirect(?:\/mcp\/install)?)\?(.+)$/s

/** The "Install in …" links of READMEs carry the whole entry. Undefined when the word is none of them. */
export function readLink(link: string): Named[] | undefined {
  const vscode = VSCODE.exec(link)?.[1]
  if (vscode !== undefined) return fromConfig(undefined, percentDecoded(vscode))
  const query = WITH_QUERY.exec(link)?.[1]
  if (query === undefined) return undefined
  const parameters = new URLSearchParams(query)
  const inner = parameters.get('url')
  if (inner !== null) return VSCODE.test(inner) ? readLink(inner) : []
  return fromConfig(parameters.get('name') ?? undefined, parameters.get('config') ?? '')
}

function fromConfig(name: string | undefined, config: string): Named[] {
  // In a query a plus is read as a space, and base64 has pluses.
  const json = /^\s*\{/.test(config) ? config : Buffer.from(config.replaceAll(' ', '+'), 'base64').toString()
  return fromJson(name, json, 'The configuration in the link cannot be read; copy it from the README instead')
}

/** JSON inside something else, such as a link or an argument. `refuse` says what to do when it cannot be read. */
export function fromJson(name: string | undefined, json: string, refuse: string): Named[] {
  try {
    const { value } = readJson(json, 0)
    return isEntry(value) && name !== undefined ? [{ name, value }] : findServers(value)
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return [{ name, value: undefined, refuse }] // its line and column would be those of the decoded text
  }
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text // a browser may have decoded it already
  }
}
