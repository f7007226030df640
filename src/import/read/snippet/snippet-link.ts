import { Fault } from './snippet-error.ts'
import { findServers, isEntry, type Named } from './snippet-find.ts'
import { readJson } from './snippet-json.ts'

const VSCODE = /^vscode(?:-insiders)?:(?:\/\/)?mcp\/install\?(.+)$/s
const WITH_QUERY =
  /^(?:cursor:\/\/anysphere\.cursor-deeplink\/mcp\/install|https:\/\/(?:www\.)?cursor\.com\/(?:[a-z-]+\/)?(?:install-mcp|link\/mcp\/install)|https:\/\/(?:insiders\.)?vscode\.dev\/redirect(?:\/mcp\/install)?)\?(.+)$/s

/** The "Install in …" links in READMEs contain the whole entry. Undefined for any other text. */
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
  // URLSearchParams decodes the plus of base64 as a space.
  const json = /^\s*\{/.test(config) ? config : Buffer.from(config.replaceAll(' ', '+'), 'base64').toString()
  return fromJson(name, json, 'Cannot parse the configuration in the link; copy it from the README instead')
}

/** JSON inside a link or an argument. `refuse` is the reason to report if it cannot be parsed. */
export function fromJson(name: string | undefined, json: string, refuse: string): Named[] {
  try {
    const { value } = readJson(json, 0)
    return isEntry(value) && name !== undefined ? [{ name, value }] : findServers(value)
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return [{ name, value: undefined, refuse }] // without line and column, which refer to the decoded text
  }
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text // a browser may have decoded it already
  }
}
