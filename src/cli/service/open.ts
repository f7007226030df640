import { browserOpener, openInBrowser } from '../run/browser.ts'
import type { Given, Run } from '../run/command-context.ts'

/** `toolroom open`: opens the dashboard, signed in by a code that works once, within a minute. */
export const openDashboard: Run = async ({ api, service, given }) => {
  const { code } = await api.post('/api/login-codes')
  const url = `${service.address}/#c=${code}`
  const isOpen = await isOpened(url, given)
  return {
    json: { url },
    lines: isOpen
      ? [`Opened the dashboard at ${service.address}`]
      : ['Open this address within a minute. It works once:', `  ${url}`],
    plain: [[url]],
  }
}

/** `toolroom docs` */
export const openDocs: Run = async ({ api, service, given }) => {
  await api.get('/api/health') // an address that does not respond is not worth opening
  const url = `${service.address}/docs/guide`
  const isOpen = await isOpened(url, given)
  return { json: { url }, lines: [isOpen ? `Opened ${url}` : url], plain: [[url]] }
}

async function isOpened(url: string, given: Given): Promise<boolean> {
  const isQuiet = given.is('no-browser') || given.is('json')
  const opener = isQuiet ? undefined : browserOpener(process.platform, process.env)
  return opener !== undefined && openInBrowser(opener, url)
}
