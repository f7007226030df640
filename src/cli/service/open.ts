import { browserOpener, openInBrowser } from '../run/browser.ts'
import type { Run } from '../run/context.ts'

/** `toolroom open`: opens the dashboard, signed in by a code that works once, within a minute. */
export const openDashboard: Run = async ({ api, service, given }) => {
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
