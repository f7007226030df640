import { browserOpener, openInBrowser } from './browser.ts'
import { runCommand } from './run-command.ts'

/** Opens the dashboard, signed in by a code that works once, within a minute. */
export function open(words: readonly string[], mainFile: string): Promise<void> {
  return runCommand('open', words, mainFile, async ({ client, flags }) => {
    const { code } = (await client.request('POST', '/api/login-codes')) as { code: string }
    const url = `${client.address}/#c=${code}`
    const isQuiet = flags.get('no-browser') === 'true' || flags.get('json') === 'true'
    const opener = isQuiet ? undefined : browserOpener(process.platform, process.env)
    const isOpen = opener !== undefined && (await openInBrowser(opener, url))
    const text = isOpen
      ? `Opened the dashboard at ${client.address}`
      : `Open this address within a minute. It works once:\n  ${url}`
    return { text, json: { url } }
  })
}
