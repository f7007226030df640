import { browserOpener, openInBrowser } from '../run/browser.ts'
import type { Context, Given, Run } from '../run/command-context.ts'

/** A person opens a printed link later than a browser that is started with it. */
const PRINTED_S = 600

/** `toolroom open`: opens the dashboard, signed in by a code that works once. */
export const openDashboard: Run = async (context) => {
  const { service, given } = context
  const { url, isOpen } = await openSignedIn(context, mayOpen(given))
  return {
    json: { url },
    lines: isOpen
      ? [`Opened the dashboard at ${service.address}`]
      : ['Open this address within 10 minutes. It works once:', `  ${url}`],
    plain: [[url]],
  }
}

/** Opens the dashboard in a browser, signed in. Where that is not possible, the link lives for 10 minutes. */
export async function openSignedIn(
  { api, service }: Pick<Context, 'api' | 'service'>,
  isAllowed = true,
): Promise<{ readonly url: string; readonly isOpen: boolean }> {
  const linkFor = async (lifetime_s?: number) => {
    const { code } = await api.post('/api/login-codes', { body: lifetime_s ? { lifetime_s } : {} })
    return `${service.address}/#c=${code}`
  }
  const opener = isAllowed ? browserOpener(process.platform, process.env) : undefined
  const url = opener && (await linkFor())
  if (opener && url !== undefined && (await openInBrowser(opener, url))) return { url, isOpen: true }
  return { url: await linkFor(PRINTED_S), isOpen: false }
}

/** `toolroom docs` */
export const openDocs: Run = async ({ api, service, given }) => {
  await api.get('/api/health') // an address that does not respond is not worth opening
  const url = `${service.address}/docs/guide`
  const opener = mayOpen(given) ? browserOpener(process.platform, process.env) : undefined
  const isOpen = opener !== undefined && (await openInBrowser(opener, url))
  return { json: { url }, lines: [isOpen ? `Opened ${url}` : url], plain: [[url]] }
}

const mayOpen = (given: Given): boolean => !given.is('no-browser') && !given.is('json')
