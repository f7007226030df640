import type { Run } from '../frame/context.ts'
import { browserOpener, openInBrowser } from '../output/browser.ts'

/** `toolroom open`: opens the dashboard, signed in by a code that works once, within a minute. */
export const run: Run = async ({ api, service, given }) => {
  const { code } = await api.post('/api/login-codes')
  const url = `${service.address}/#c=${code}`
  const isQuiet = given.is('no-browser') || given.is('json')
  const opener = isQuiet ? undefined : browserOpener(process.platform, process.env)
  const isOpen = opener !== undefined && (await openInBrowser(opener, url))
  return {
    json: { url },
    lines: isOpen
      ? [`Opened the dashboard at ${service.address}`]
      : ['Open this address within a minute. It works once:', `  ${url}`],
    plain: [[url]],
  }
}
