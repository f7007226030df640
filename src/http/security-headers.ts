const LOCKED = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
const OWN_FILES = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'", // Swagger UI sets style attributes
  "img-src 'self' data:",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ')

/** On every answer. There is no CORS header among them, ever: no other origin may read anything. */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': LOCKED,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cache-control': 'no-store',
}

/** For our own pages, which load their own scripts and styles and nothing else. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = { 'content-security-policy': OWN_FILES }
