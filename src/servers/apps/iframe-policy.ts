import { isObject } from '../../kernel/json/json-checks.ts'

/** One origin, as a resource declares it: `https://api.example.com`, `https://*.example.com`, `wss://example.com:8443`. */
const ORIGIN = /^(?:https?|wss?):\/\/(?:\*\.)?[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?(?::\d{1,5})?$/i
const MOST_ORIGINS = 30

/**
 * The policy of a page: scripts run in an origin of their own, and only the domains that the resource declares in
 * `_meta.ui.csp` are reached. Without a declaration that is none.
 */
export function iframePolicy(meta: unknown): string {
  const ui = isObject(meta) && isObject(meta.ui) ? meta.ui : {}
  const csp = isObject(ui.csp) ? ui.csp : {}
  const resources = originsIn(csp.resourceDomains)
  const own = ["'unsafe-inline'", ...resources].join(' ')
  const media = ['data:', 'blob:', ...resources].join(' ')
  const orNone = (origins: readonly string[]) => (origins.length > 0 ? origins.join(' ') : "'none'")
  return [
    'sandbox allow-scripts',
    "default-src 'none'",
    `script-src ${own}`,
    `style-src ${own}`,
    `img-src ${media}`,
    `media-src ${media}`,
    `font-src ${['data:', ...resources].join(' ')}`,
    `connect-src ${orNone(originsIn(csp.connectDomains))}`,
    `frame-src ${orNone(originsIn(csp.frameDomains))}`,
    "frame-ancestors 'self'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ')
}

/** What is not an origin is left out: it could end the directive and begin another. */
function originsIn(declared: unknown): string[] {
  const list: readonly unknown[] = Array.isArray(declared) ? declared : []
  return list
    .filter((each): each is string => typeof each === 'string' && ORIGIN.test(each))
    .slice(0, MOST_ORIGINS)
}
