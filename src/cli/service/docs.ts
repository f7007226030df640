import { browserOpener, openInBrowser } from '../run/browser.ts'
import type { Run } from '../run/context.ts'

/** `toolroom docs` */
export const openDocs: Run = async ({ api, service, given }) => {
  await api.get('/api/health') // an address that does not respond is not worth opening
  const url = `${service.address}/docs/guide`
  const isQuiet = given.is('no-browser') || given.is('json')
  const opener = isQuiet ? undefined : browserOpener(process.platform, process.env)
  const isOpen = opener !== undefined && (await openInBrowser(opener, url))
  return { json: { url }, lines: [isOpen ? `Opened ${url}` : url], plain: [[url]] }
}
